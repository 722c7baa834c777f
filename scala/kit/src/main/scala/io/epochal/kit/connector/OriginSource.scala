package io.epochal.kit.connector

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.apache.spark.sql.connector.read.streaming.PartitionOffset
import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReaderFactory}

import io.epochal.kit.source.{ContinuousSource, EndlessReaderFactory, Extent, InitialOffset, Supply}

/** A batch read: the rows that the origin has when the batch is planned. */
final private[connector] class OriginBatch[P](connector: SourceConnector[P], read: ConnectorRead) extends Batch {

  override def planInputPartitions(): Array[InputPartition] =
    Using.resource(OriginCalls.open(connector, read.settings, read.schema)) { calls =>
      val supply = new OriginSupply(calls, connector.positions, read.parts)
      val first = supply.first
      var end = first
      var atEnd = false
      while (!atEnd) {
        val rows = supply.available(end, Long.MaxValue)
        atEnd = supply.known.exists(_.exact) || rows == 0 && !supply.paused
        end = supply.take(end, rows)
      }
      supply.partitions(first, end)
    }

  override def createReaderFactory(): PartitionReaderFactory = OriginReaderFactory(read.inTask(connector))
}

/** The driver's part of a [[SourceConnector]]. */
private[connector] class OriginSource[P](connector: SourceConnector[P], read: ConnectorRead)
    extends ConnectorSource[P](connector, read.settings) {

  final protected val calls: OriginCalls[P] = OriginCalls.open(connector, read.settings, read.schema)
  override val supply: OriginSupply[P] = new OriginSupply(calls, connector.positions, read.parts)
  override def first: ConnectorPosition[P] = supply.first
  override def readerFactory: PartitionReaderFactory = OriginReaderFactory(read.inTask(connector))
  override def metrics(rowsBehind: Option[Long]): Map[String, String] = calls.metrics
}

/** A connector's source for continuous and real-time queries. */
final private[connector] class TailSource[P](
    connector: SourceConnector[P],
    read: ConnectorRead,
    checkpoint: InitialOffset)
    extends OriginSource[P](connector, read)
    with ContinuousSource[ConnectorPosition[P]] {

  private val positions = connector.positions
  private val plans = new TailPlans(checkpoint.beside("tails"))

  /** Not kept yet. */
  private var planned = Option.empty[TailPlan]

  private var divided = false

  override def regrouped: Boolean = divided

  /** Tails in the order of the tasks that they continue, whatever the order in which the origin gives them. */
  override def endlessPartitions(start: ConnectorPosition[P]): Array[InputPartition] = {
    val found = tails(start.position)
    val from = toJson(start)
    // A sink notices another number of tasks itself.
    val known = if (found.size == 1) Nil else plans.after(from).getOrElse(start.tails.map(positions.toText))
    val same = known.toSet == found.toSet
    val order = if (same) known else found
    divided = known.nonEmpty && !same
    planned = Option.when(found.size > 1 && !same)(TailPlan(from, found))
    order.zipWithIndex.map { case (at, index) => TailPartition(index, start.rows, at): InputPartition }.toArray
  }

  override def keepPartitions(): Unit = {
    planned.foreach(plans.keep)
    planned = None
    divided = false
  }

  private def tails(start: P): Seq[String] = {
    val found = calls("planned its tasks")(_ => calls.tail.tails(start, read.parts)).asScala.map(positions.toText).toSeq
    if (found.isEmpty) throw calls.invalid("tails", s"tails($start) is empty, so that no task would follow the origin")
    found
      .diff(found.distinct)
      .headOption
      .foreach(twice =>
        throw calls.invalid("tails", s"tails($start) has $twice twice, so that two tasks would deliver the same rows"))
    found
  }

  override def endlessReaders: EndlessReaderFactory = TailReaders(read.inTask(connector))

  override def needsReconfiguration: Boolean =
    quietly("said whether its tasks are as they were")(_.tailsChanged()).getOrElse(false)

  override def lookAhead(end: ConnectorPosition[P]): Unit =
    quietly("looked ahead")(_.lookAhead(end.position)).flatMap(_.toScala).foreach(supply.observe(end, _))

  /** Spark's call must not fail: failures are logged. */
  private def quietly[A](step: String)(body: TailOrigin[P] => A): Option[A] =
    try Some(calls.once(step)(body(calls.tail)))
    catch {
      case NonFatal(error) =>
        AuthorCalls.log.warn("{}", error.getMessage)
        None
    }

  override def merge(offsets: Seq[PartitionOffset]): ConnectorPosition[P] = {
    val ends = offsets.collect { case end: TailOffset => end }.sortBy(_.from.index)
    val merged =
      calls("merged offsets")(_ => calls.tail.merge(ends.map(end => positions.fromText(end.position)).asJava))
    val tails = if (ends.size > 1) ends.map(end => positions.fromText(end.position)) else Nil
    ConnectorPosition(ends.head.from.rows + ends.map(_.count).sum, merged, tails = tails)
  }
}

/** The rows of an origin, with the number of rows before each position, counted from where the query began: limits and lag are
  * in rows for any type of position.
  */
final private[connector] class OriginSupply[P](calls: OriginCalls[P], positions: PositionFormat[P], parts: Int)
    extends Supply[ConnectorPosition[P]] {

  private var last = Option.empty[(ConnectorPosition[P], Available[P])]
  private var toEnd = false
  @volatile private var seen = Option.empty[(ConnectorPosition[P], Extent)]

  def first: ConnectorPosition[P] = ConnectorPosition(0L, calls("read its first position")(_.first()))

  override def available(start: ConnectorPosition[P], most: Long): Long = {
    // AvailableNow finds its end when the run starts, regardless of the limits of a batch.
    val found = ask(start, if (toEnd) Long.MaxValue else most)
    observe(start, found)
    last = Some(start -> found)
    toEnd = false
    math.min(found.rows, most)
  }

  /** Records the rows after a position, for the lag. */
  def observe(start: ConnectorPosition[P], found: Available[P]): Unit = {
    val until = start.rows + found.rows
    seen = Some(ConnectorPosition(until, found.end) -> Extent(until, if (found.atEnd) until else Long.MaxValue))
  }

  override def take(start: ConnectorPosition[P], rows: Long): ConnectorPosition[P] = {
    val found =
      last.collect { case (from, all) if from == start && all.rows == rows => all }.getOrElse(ask(start, rows))
    ConnectorPosition(start.rows + found.rows, found.end)
  }

  override def partitions(start: ConnectorPosition[P], end: ConnectorPosition[P]): Array[InputPartition] =
    if (start.rows == end.rows) Array.empty
    else
      calls("shared out a batch")(_.split(start.position, end.position, parts)).asScala
        .map(range => OriginPartition(positions.toText(range.start), positions.toText(range.end)): InputPartition)
        .toArray

  override def rowsBefore(position: ConnectorPosition[P]): Long = position.rows

  override def known: Option[Extent] = seen.map(_._2)

  override def latest: Option[ConnectorPosition[P]] = seen.map(_._1)

  /** An origin may skip positions that hold no rows. */
  override def paused: Boolean =
    last.exists { case (start, found) => found.rows == 0 && found.end != start.position }

  override def freezeEnd(): Unit = toEnd = true

  override def release(end: ConnectorPosition[P]): Unit = calls("released rows")(_.release(end.position))

  override def close(): Unit = calls.close()

  private def ask(start: ConnectorPosition[P], most: Long): Available[P] = {
    val found = calls("searched its end")(_.available(start.position, most))
    if (found.rows < 0 || found.rows > most)
      throw calls.invalid("available", s"asked for $most rows, it gave ${found.rows}")
    if (found.rows > 0 && found.end == start.position)
      throw calls.invalid(
        "available",
        s"${found.rows} rows after ${start.position} end at ${found.end}, where they begin")
    found
  }
}
