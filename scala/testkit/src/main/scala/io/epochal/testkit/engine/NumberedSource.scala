package io.epochal.testkit.engine

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, StandardCopyOption}
import java.util

import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{Column, SupportsRead, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.types.{LongType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Source of the numbers from 0, up to a count in a file, in batches of a fixed size: the input of sinks under test, in every mode.
  *
  * Options: `file`, which contains the count of available numbers; `batch`, numbers per epoch.
  */
final class NumberedSource extends TableProvider {

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = NumberedSource.Schema

  override def getTable(schema: StructType, by: Array[Transform], properties: util.Map[String, String]): Table =
    new StreamTable("numbers", NumberedSource.Schema, NumberedSource.Modes)(options =>
      new Scan {
        override def readSchema(): StructType = NumberedSource.Schema
        private def file: Path = Path.of(options.get("file"))
        private def batch: Int = options.getInt("batch", 10)
        override def toMicroBatchStream(checkpoint: String): MicroBatchStream = NumberedSource.stream(file, batch)
        override def toContinuousStream(checkpoint: String): ContinuousStream = new ContinuousNumbers(file, batch)
      })
}

/** A table that supports streaming reads only. */
final private[engine] class StreamTable(
    override val name: String,
    override val schema: StructType,
    override val capabilities: util.Set[TableCapability]
)(scan: CaseInsensitiveStringMap => Scan)
    extends Table
    with SupportsRead {
  override def columns(): Array[Column] = schema.map(f => Column.create(f.name, f.dataType, f.nullable)).toArray
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () => scan(options)
}

private[testkit] object NumberedSource {
  val Schema: StructType = new StructType().add("id", LongType, nullable = false)
  val Partitions = 2

  private val Modes = util.EnumSet.of(TableCapability.MICRO_BATCH_READ, TableCapability.CONTINUOUS_READ)

  private val RealTimeMode = "org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode"

  /** Stream for micro-batches and, since Spark 4.1, real-time mode. */
  private[engine] def stream(file: Path, batch: Int): MicroBatchStream =
    if (Try(Class.forName(RealTimeMode, false, getClass.getClassLoader)).isFailure) new NumberedStream(file, batch)
    else
      Class
        .forName("io.epochal.testkit.engine.RealTimeNumbers")
        .getDeclaredConstructors
        .head
        .newInstance(file, Int.box(batch))
        .asInstanceOf[MicroBatchStream]

  def available(file: Path): Long =
    if (Files.exists(file)) Files.readString(file, UTF_8).trim.toLong else 0L

  /** Makes the numbers before `count` available. */
  def setAvailable(file: Path, count: Long): Unit = {
    val partial = Files.writeString(file.resolveSibling(s"${file.getFileName}.new"), count.toString, UTF_8)
    val _ = Files.move(partial, file, StandardCopyOption.ATOMIC_MOVE)
  }
}

final private[engine] case class NumberOffset(rows: Long) extends Offset {
  override def json(): String = s"""{"v":1,"rows":$rows}"""
}

final private case class NumberSlice(scene: String, from: Long, to: Long, batch: Int) extends InputPartition

private[engine] class NumberedStream(file: Path, batch: Int) extends MicroBatchStream with SupportsTriggerAvailableNow {
  private var target = Option.empty[Long]

  override def prepareForTriggerAvailableNow(): Unit = target = Some(NumberedSource.available(file))

  override def initialOffset(): Offset = NumberOffset(0)

  override def latestOffset(start: Offset, limit: ReadLimit): Offset = {
    val from = start.asInstanceOf[NumberOffset].rows
    NumberOffset(math.max(from, math.min(from + batch, target.getOrElse(NumberedSource.available(file)))))
  }

  override def latestOffset(): Offset = throw new UnsupportedOperationException("latestOffset(Offset, ReadLimit)")

  override def deserializeOffset(json: String): Offset = NumberOffset(
    json.replaceAll(".*\"rows\":(\\d+)}", "$1").toLong)

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = {
    val (from, to) = (start.asInstanceOf[NumberOffset].rows, end.asInstanceOf[NumberOffset].rows)
    val middle = (from + to) / 2
    Array((from, middle), (middle, to)).map { case (a, b) => NumberSlice(file.getParent.toString, a, b, batch) }
  }

  override def createReaderFactory(): PartitionReaderFactory = NumberReaderFactory

  override def commit(end: Offset): Unit = ()

  override def stop(): Unit = ()
}

private[engine] case object NumberReaderFactory extends PartitionReaderFactory {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    val slice = partition.asInstanceOf[NumberSlice]
    new PartitionReader[InternalRow] {
      private var number = slice.from - 1
      override def next(): Boolean = {
        // When the second row is requested, the sink has the first.
        if (number >= slice.from) Steps.at(slice.scene, Step.InTasks, number / slice.batch)
        number += 1
        number < slice.to
      }
      override def get(): InternalRow = InternalRow(number)
      override def close(): Unit = ()
    }
  }
}

/** Count of delivered numbers for each endless partition. Partition p of n delivers p, p + n, p + 2n, …. */
final private[engine] case class NumberCounts(counts: Seq[Long]) extends Offset {
  override def json(): String = counts.mkString("""{"v":1,"counts":[""", ",", "]}")
}

private[engine] object NumberCounts {
  private val Json = """\{"v":1,"counts":\[([\d,]*)\]\}""".r

  val Zero: NumberCounts = NumberCounts(Seq.fill(NumberedSource.Partitions)(0L))

  def parse(json: String): Option[NumberCounts] =
    Json.findFirstMatchIn(json).map(found => NumberCounts(found.group(1).split(',').toSeq.map(_.toLong)))

  def merged(offsets: Array[PartitionOffset]): NumberCounts =
    NumberCounts(offsets.toSeq.collect { case one: NumberCount => one }.sortBy(_.index).map(_.count))

  def slices(file: Path, batch: Int, start: NumberCounts): Array[InputPartition] =
    start.counts.zipWithIndex.map { case (count, index) =>
      EndlessNumberSlice(file.toString, index, count, batch): InputPartition
    }.toArray
}

/** An endless partition of [[NumberedSource]]. */
final private[engine] case class EndlessNumberSlice(file: String, index: Int, count: Long, batch: Int)
    extends InputPartition

final private[engine] case class NumberCount(index: Int, count: Long) extends PartitionOffset

/** Reader of an endless partition. Delivers a number when the file makes it available, and at most one per millisecond, so that a
  * kill hits the query in the middle of its rows.
  */
private[engine] class EndlessNumbers(slice: EndlessNumberSlice) extends ContinuousPartitionReader[InternalRow] {
  import NumberedSource.{Partitions, available}

  private val file = Path.of(slice.file)
  private var count = slice.count
  private var known = 0L

  private def id(count: Long): Long = slice.index + count * Partitions

  /** @return
    *   false: timeout
    */
  def next(timeoutMillis: Long): Boolean = {
    // When a row is requested, the sink has the previous one.
    if (count > slice.count) Steps.at(file.getParent.toString, Step.InTasks, id(count - 1) / slice.batch)
    val begin = System.nanoTime()
    def isThere: Boolean = {
      if (known <= id(count)) known = available(file)
      known > id(count)
    }
    var there = isThere
    while (!there && (System.nanoTime() - begin) / 1000000 < timeoutMillis) {
      Thread.sleep(5)
      there = isThere
    }
    if (there) {
      Thread.sleep(1)
      count += 1
    }
    there
  }

  override def next(): Boolean = next(Long.MaxValue)

  override def get(): InternalRow = InternalRow(id(count - 1))

  override def getOffset: PartitionOffset = NumberCount(slice.index, count)

  override def close(): Unit = ()
}

final private[engine] class ContinuousNumbers(file: Path, batch: Int) extends ContinuousStream {

  override def initialOffset(): Offset = NumberCounts.Zero

  override def deserializeOffset(json: String): Offset =
    NumberCounts.parse(json).getOrElse(throw new IllegalArgumentException(s"not counts of numbers: $json"))

  override def planInputPartitions(start: Offset): Array[InputPartition] = start match {
    case counts: NumberCounts => NumberCounts.slices(file, batch, counts)
    case other                => throw new IllegalArgumentException(s"not counts of numbers: $other")
  }

  override def createContinuousReaderFactory(): ContinuousPartitionReaderFactory = ContinuousNumberReaders

  override def mergeOffsets(offsets: Array[PartitionOffset]): Offset = NumberCounts.merged(offsets)

  override def commit(end: Offset): Unit = ()

  override def stop(): Unit = ()
}

private case object ContinuousNumberReaders extends ContinuousPartitionReaderFactory {

  override def createReader(partition: InputPartition): ContinuousPartitionReader[InternalRow] = partition match {
    case slice: EndlessNumberSlice => new EndlessNumbers(slice)
    case other                     => throw new IllegalArgumentException(s"not a partition of numbers: $other")
  }
}
