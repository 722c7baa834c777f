package io.epochal.testkit.connector

import java.nio.file.{Files, Path}
import java.util
import java.util.Optional

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{Column, SupportsRead, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.types.{StringType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.unsafe.types.UTF8String

/** Format of a stream of lines. */
abstract class LineProvider extends TableProvider {

  def stream(options: CaseInsensitiveStringMap, checkpoint: Path): MicroBatchStream

  def modes: util.Set[TableCapability] = util.EnumSet.of(TableCapability.MICRO_BATCH_READ)

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = LineProvider.Schema

  override def getTable(schema: StructType, by: Array[Transform], settings: util.Map[String, String]): Table =
    new Table with SupportsRead {
      override def name(): String = "lines"
      override def columns(): Array[Column] = Array(Column.create("line", StringType, false))
      override def schema(): StructType = LineProvider.Schema
      override def capabilities(): util.Set[TableCapability] = modes
      override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () =>
        new Scan {
          override def readSchema(): StructType = LineProvider.Schema
          override def toMicroBatchStream(checkpoint: String): MicroBatchStream =
            stream(options, Path.of(new org.apache.hadoop.fs.Path(checkpoint).toUri.getPath))
        }
    }
}

object LineProvider {
  val Schema: StructType = new StructType().add("line", StringType, nullable = false)
}

/** Correct source of the lines of an append-only file. Option `path`: the file. */
final class Lines extends LineProvider {
  override def stream(options: CaseInsensitiveStringMap, checkpoint: Path): MicroBatchStream =
    new LineStream(Path.of(options.get("path")), options.getInt("numPartitions", 2))
}

final case class LineOffset(source: String, lines: Long) extends Offset {
  override def json(): String = s"""{"v":1,"source":"$source","lines":$lines}"""
}

final case class LineSlice(path: String, from: Long, to: Long) extends InputPartition

class LineStream(path: Path, partitions: Int)
    extends MicroBatchStream
    with SupportsTriggerAvailableNow
    with ReportsSourceMetrics {
  private var target = Option.empty[Long]

  protected def source: String = path.toString

  /** Current number of lines. */
  protected def count: Long = LineStream.lines(path).size.toLong

  override def prepareForTriggerAvailableNow(): Unit = target = Some(count)

  override def initialOffset(): Offset = LineOffset(source, 0)

  override def latestOffset(start: Offset, limit: ReadLimit): Offset = {
    val from = at(start)
    val there = target.getOrElse(count) - from
    val wanted = limit match {
      case all: CompositeReadLimit => all.getReadLimits.foldLeft(there)(allowed(_, _, there))
      case one                     => allowed(there, one, there)
    }
    LineOffset(source, from + wanted)
  }

  private def allowed(wanted: Long, limit: ReadLimit, there: Long): Long = limit match {
    case most: ReadMaxRows  => math.min(wanted, most.maxRows())
    case least: ReadMinRows => if (there < least.minRows()) 0 else wanted
    case _                  => wanted
  }

  override def latestOffset(): Offset = throw new UnsupportedOperationException("latestOffset(Offset, ReadLimit)")

  override def reportLatestOffset(): Offset = LineOffset(source, count)

  override def metrics(last: Optional[Offset]): util.Map[String, String] =
    // The offset may be of Spark's own class, with only the JSON.
    Map(
      "linesBehind" -> (count - last
        .map[Long](offset => at(deserializeOffset(offset.json)))
        .orElse(0L)).toString).asJava

  final protected def at(offset: Offset): Long = offset.asInstanceOf[LineOffset].lines

  override def deserializeOffset(json: String): Offset = json match {
    case LineStream.Json("1", same, lines) if same == source => LineOffset(source, lines.toLong)
    case LineStream.Json("1", other, _) =>
      throw new IllegalArgumentException(s"The offset belongs to $other, and not to $source.")
    case LineStream.Json(version, _, _) =>
      throw new IllegalArgumentException(s"The offset has version $version; version 1 can be read.")
    case _ => throw new IllegalArgumentException(s"Not an offset: '$json'")
  }

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] =
    slices(at(start), at(end))

  final protected def slices(from: Long, to: Long): Array[InputPartition] =
    (0 until partitions)
      .map(n =>
        LineSlice(path.toString, from + (to - from) * n / partitions, from + (to - from) * (n + 1) / partitions))
      .filter(slice => slice.from < slice.to)
      .toArray

  override def createReaderFactory(): PartitionReaderFactory = LineReaders

  override def commit(end: Offset): Unit = ()

  override def stop(): Unit = ()
}

object LineStream {
  private val Json = """\{"v":(\d+),"source":"([^"]*)","lines":(\d+)\}""".r

  def lines(path: Path): Seq[String] = if (Files.exists(path)) Files.readAllLines(path).asScala.toSeq else Nil
}

case object LineReaders extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    val LineSlice(path, from, to) = partition
    val lines = LineStream.lines(Path.of(path)).slice(from.toInt, to.toInt).iterator
    new PartitionReader[InternalRow] {
      private var line = ""
      override def next(): Boolean = {
        val more = lines.hasNext
        if (more) line = lines.next()
        more
      }
      override def get(): InternalRow = InternalRow(UTF8String.fromString(line))
      override def close(): Unit = ()
    }
  }
}
