package io.epochal.kit.connector

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._
import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.connector.read.streaming.PartitionOffset
import org.apache.spark.sql.types.StructType
import org.slf4j.LoggerFactory

import io.epochal.kit.source.{ContinuousSource, EndlessReader, EndlessReaderFactory}

/** A task that follows an origin.
  *
  * @param rows
  *   before the position that the query went on from
  * @param start
  *   where this task begins, as it is written
  */
final private[connector] case class TailPartition(index: Int, rows: Long, start: String) extends InputPartition

/** @param count
  *   rows that the task has delivered
  */
final private[connector] case class TailOffset(from: TailPartition, position: String, count: Long)
    extends PartitionOffset

/** A connector's source in continuous and real-time queries as well. */
final private[connector] class TailSource[P](
    connector: SourceConnector[P],
    settings: Settings,
    schema: StructType,
    parts: Int)
    extends ConnectorSource[P](connector, settings, schema, parts)
    with ContinuousSource[CountedPosition[P]] {

  private val positions = connector.positions

  override def endlessPartitions(start: CountedPosition[P]): Array[InputPartition] =
    calls("planned its tasks")(origin =>
      OriginCalls.tail(origin, calls).tails(start.position, parts)).asScala.zipWithIndex.map { case (at, index) =>
      TailPartition(index, start.rows, positions.toText(at)): InputPartition
    }.toArray

  override def endlessReaders: EndlessReaderFactory = TailReaders(ConnectorReaderFactory(connector, settings, schema))

  override def needsReconfiguration: Boolean =
    quietly("said whether its tasks are as they were")(_.tailsChanged()).getOrElse(false)

  override def lookAhead(end: CountedPosition[P]): Unit =
    quietly("looked ahead")(_.lookAhead(end.position)).flatMap(_.toScala).foreach(supply.saw(end, _))

  /** Spark asks in passing, and cannot do with a failure. */
  private def quietly[A](step: String)(body: TailOrigin[P] => A): Option[A] =
    try Some(calls.now(step)(origin => body(OriginCalls.tail(origin, calls))))
    catch {
      case NonFatal(error) =>
        TailSource.log.warn("{}", error.getMessage)
        None
    }

  override def merge(offsets: Seq[PartitionOffset]): CountedPosition[P] = {
    val ends = offsets.collect { case end: TailOffset => end }.sortBy(_.from.index)
    val merged = calls("merged offsets") { origin =>
      OriginCalls.tail(origin, calls).merge(ends.map(end => positions.fromText(end.position)).asJava)
    }
    CountedPosition(ends.head.from.rows + ends.map(_.count).sum, merged)
  }
}

private object TailSource {
  private val log = LoggerFactory.getLogger("io.epochal.kit.connector")
}

final private case class TailReaders[P](factory: ConnectorReaderFactory[P]) extends EndlessReaderFactory {

  override def createReader(partition: InputPartition): EndlessReader = partition match {
    case tail: TailPartition =>
      val (connector, calls) = factory.open()
      new ConnectorTailReader(connector.positions, calls, tail)
    case other => throw new IllegalArgumentException(s"not a partition of a connector: $other")
  }
}

final private class ConnectorTailReader[P](positions: PositionFormat[P], calls: OriginCalls[P], from: TailPartition)
    extends EndlessReader {

  private val reader =
    try calls("followed its end")(OriginCalls.tail(_, calls).tail(positions.fromText(from.start)))
    catch {
      case error: Throwable =>
        calls.close()
        throw error
    }
  private var count = 0L

  override def next(timeoutMillis: Long): Boolean = {
    val found = calls.once("followed its end")(reader.next(timeoutMillis))
    if (found) count += 1
    found
  }

  override def get(): InternalRow = reader.get()

  override def offset: PartitionOffset = TailOffset(from, positions.toText(reader.position()), count)

  override def close(): Unit =
    try calls.once("closed a partition")(reader.close())
    finally calls.close()
}
