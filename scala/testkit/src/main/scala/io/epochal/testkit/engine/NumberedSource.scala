package io.epochal.testkit.engine

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, StandardCopyOption}
import java.util

import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{Column, SupportsRead, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.streaming.{
  ContinuousStream,
  MicroBatchStream,
  Offset,
  ReadLimit,
  SupportsTriggerAvailableNow
}
import org.apache.spark.sql.types.{LongType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The numbers from 0 on, as many as a file says, in batches of a fixed size: what sinks under test are fed with, in every mode.
  *
  * Options: `file` holds how many numbers there are; `batch`, how many of them an epoch has.
  */
final class NumberedSource extends TableProvider {

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = NumberedSource.Schema

  override def getTable(schema: StructType, by: Array[Transform], properties: util.Map[String, String]): Table =
    new Table with SupportsRead {
      override def name(): String = "numbers"
      override def columns(): Array[Column] = schema.map(f => Column.create(f.name, f.dataType, f.nullable)).toArray
      override def schema(): StructType = NumberedSource.Schema
      override def capabilities(): util.Set[TableCapability] =
        util.EnumSet.of(TableCapability.MICRO_BATCH_READ, TableCapability.CONTINUOUS_READ)
      override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () =>
        new Scan {
          override def readSchema(): StructType = NumberedSource.Schema
          private def file: Path = Path.of(options.get("file"))
          private def batch: Int = options.getInt("batch", 10)
          override def toMicroBatchStream(checkpoint: String): MicroBatchStream = NumberedSource.stream(file, batch)
          override def toContinuousStream(checkpoint: String): ContinuousStream = new ContinuousNumbers(file, batch)
        }
    }
}

private[testkit] object NumberedSource {
  val Schema: StructType = new StructType().add("id", LongType, nullable = false)
  val Partitions = 2

  private val RealTimeMode = "org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode"

  /** In micro-batches and, from Spark 4.1 on, in real-time mode. */
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

  /** Has the file say that there are so many numbers. */
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
        // When the second row is asked for, the first is with the sink.
        if (number >= slice.from) Steps.at(slice.scene, Step.InTasks, number / slice.batch)
        number += 1
        number < slice.to
      }
      override def get(): InternalRow = InternalRow(number)
      override def close(): Unit = ()
    }
  }
}
