package io.epochal.testkit.engine

import java.lang.{Long => JavaLong}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, StandardCopyOption}
import java.util

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead.RecordStatus
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.types.{LongType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.core.offset.CountedStream

/** Source of the numbers from 0, up to a count in a file, in batches of a fixed size: the input of sinks under test, in every mode.
  *
  * Options: `file`, which contains the count of available numbers; `batch`, numbers per epoch.
  */
final class NumberedSource extends TableProvider {

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = NumberedSource.Schema

  override def getTable(schema: StructType, by: Array[Transform], properties: util.Map[String, String]): Table =
    new StreamTable("numbers", NumberedSource.Schema, NumberedSource.Modes)((options, _) =>
      NumberedSource.stream(Path.of(options.get("file")), options.getInt("batch", 10)))
}

/** A table that supports streaming reads only.
  *
  * @param stream
  *   creates the stream from options and checkpoint
  */
final private[engine] class StreamTable(
    override val name: String,
    override val schema: StructType,
    override val capabilities: util.Set[TableCapability]
)(stream: (CaseInsensitiveStringMap, String) => SparkDataStream)
    extends Table
    with SupportsRead {

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () =>
    new Scan {
      override def readSchema(): StructType = schema
      override def toMicroBatchStream(checkpoint: String): MicroBatchStream =
        stream(options, checkpoint).asInstanceOf[MicroBatchStream]
      override def toContinuousStream(checkpoint: String): ContinuousStream =
        stream(options, checkpoint).asInstanceOf[ContinuousStream]
    }
}

private[testkit] object NumberedSource {
  val Schema: StructType = new StructType().add("id", LongType, nullable = false)
  val Partitions = 2

  private val Modes = util.EnumSet.of(TableCapability.MICRO_BATCH_READ, TableCapability.CONTINUOUS_READ)

  /** The stream; since Spark 4.1 for real-time mode, too. */
  private def stream(file: Path, batch: Int): NumberedStream =
    try
      Class
        .forName("io.epochal.testkit.engine.RealTimeNumbers")
        .getConstructor(classOf[Path], classOf[Int])
        .newInstance(file, Int.box(batch))
        .asInstanceOf[NumberedStream]
    catch { case _: NoClassDefFoundError => new NumberedStream(file, batch) }

  def available(file: Path): Long =
    if (Files.exists(file)) Files.readString(file, UTF_8).trim.toLong else 0L

  /** Makes the numbers before `count` available. */
  def setAvailable(file: Path, count: Long): Unit = {
    val partial = Files.writeString(file.resolveSibling(s"${file.getFileName}.new"), count.toString, UTF_8)
    val _ = Files.move(partial, file, StandardCopyOption.ATOMIC_MOVE)
  }
}

/** Count of delivered numbers for each partition. Partition p of n delivers p, p + n, p + 2n, …. */
final private[engine] case class NumberCounts(counts: Seq[Long]) extends Offset {
  override def json(): String = counts.mkString("""{"v":1,"counts":[""", ",", "]}")
}

private[engine] object NumberCounts {
  private val Json = """\{"v":1,"counts":\[([\d,]*)\]\}""".r

  def parse(json: String): NumberCounts = json match {
    case Json(counts) => NumberCounts(counts.split(',').toSeq.map(_.toLong))
    case _            => throw new IllegalArgumentException(s"not counts of numbers: $json")
  }

  def before(end: Long): NumberCounts = {
    val n = NumberedSource.Partitions
    NumberCounts((0 until n).map(p => (end - p + n - 1) / n))
  }
}

/** Numbers of one partition, by their count.
  *
  * @param until
  *   Long.MaxValue: without an end
  */
final private[engine] case class NumberSlice(file: String, index: Int, from: Long, until: Long, batch: Int)
    extends InputPartition

final private[engine] case class NumberCount(index: Int, count: Long) extends PartitionOffset

/** Stream of numbers in every mode but real-time. */
private[engine] class NumberedStream(file: Path, batch: Int)
    extends MicroBatchStream
    with ContinuousStream
    with SupportsAdmissionControl
    with CountedStream {

  override def initialOffset(): Offset = NumberCounts.before(0)

  override def deserializeOffset(json: String): Offset = NumberCounts.parse(json)

  override def latestOffset(start: Offset, limit: ReadLimit): Offset = {
    val counts = NumberCounts.parse(start.json).counts
    val end = NumberCounts.before(math.min(counts.sum + batch, NumberedSource.available(file)))
    NumberCounts(counts.zip(end.counts).map { case (before, after) => math.max(before, after) })
  }

  override def latestOffset(): Offset = throw new UnsupportedOperationException("latestOffset(Offset, ReadLimit)")

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] =
    slices(start, NumberCounts.parse(end.json).counts)

  override def planInputPartitions(start: Offset): Array[InputPartition] =
    slices(start, Seq.fill(NumberedSource.Partitions)(Long.MaxValue))

  private def slices(start: Offset, ends: Seq[Long]): Array[InputPartition] =
    NumberCounts
      .parse(start.json)
      .counts
      .zip(ends)
      .zipWithIndex
      .map { case ((from, until), index) => NumberSlice(file.toString, index, from, until, batch): InputPartition }
      .toArray

  override def createReaderFactory(): PartitionReaderFactory = createContinuousReaderFactory()

  override def createContinuousReaderFactory(): ContinuousPartitionReaderFactory =
    partition => new NumberReader(partition.asInstanceOf[NumberSlice])

  override def mergeOffsets(offsets: Array[PartitionOffset]): Offset =
    NumberCounts(offsets.toSeq.collect { case one: NumberCount => one }.sortBy(_.index).map(_.count))

  override def commit(end: Offset): Unit = ()

  override def stop(): Unit = ()
}

/** Delivers a number when the file makes it available, and at most one per millisecond, so that a kill hits a query in the middle of
  * its rows.
  */
private[engine] class NumberReader(slice: NumberSlice) extends ContinuousPartitionReader[InternalRow] {
  private val file = Path.of(slice.file)
  private var count = slice.from
  private var available = 0L

  private def id(count: Long): Long = slice.index + count * NumberedSource.Partitions

  /** @return
    *   false: timeout, or the end of the slice
    */
  def next(timeoutMillis: Long): Boolean = {
    // When a row is requested, the sink has the previous one.
    if (count > slice.from) Steps.at(file.getParent.toString, KillStep.InTasks, id(count - 1) / slice.batch)
    val there = count < slice.until && QueryWatch.until(timeoutMillis, pauseMillis = 5) {
      if (available <= id(count)) available = NumberedSource.available(file)
      available > id(count)
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

/** Adds real-time mode. Implements interfaces of Spark 4.1, so [[NumberedSource]] loads it only if they exist. */
final private[engine] class RealTimeNumbers(file: Path, batch: Int)
    extends NumberedStream(file, batch)
    with SupportsRealTimeMode {
  override def createReaderFactory(): PartitionReaderFactory =
    partition => new RealTimeNumberReader(partition.asInstanceOf[NumberSlice])
}

final private class RealTimeNumberReader(slice: NumberSlice)
    extends NumberReader(slice)
    with SupportsRealTimeRead[InternalRow] {

  /** The signature of Spark 4.1. */
  def nextWithTimeout(timeoutMillis: JavaLong): RecordStatus =
    RecordStatus.newStatusWithoutArrivalTime(next(math.max(0L, timeoutMillis)))

  /** The signature of Spark 4.2 and later. */
  override def nextWithTimeout(startMillis: JavaLong, timeoutMillis: JavaLong): RecordStatus =
    nextWithTimeout(timeoutMillis)
}
