package io.epochal.testkit.engine

import java.nio.file.Path

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.connector.read.streaming.{
  ContinuousPartitionReader,
  ContinuousPartitionReaderFactory,
  ContinuousStream,
  Offset,
  PartitionOffset
}

/** How many numbers each endless partition has delivered: partition p of n delivers p, p + n, p + 2n, …. */
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

/** A partition of [[NumberedSource]] that has no end. */
final private[engine] case class EndlessNumberSlice(file: String, index: Int, count: Long, batch: Int)
    extends InputPartition

final private[engine] case class NumberCount(index: Int, count: Long) extends PartitionOffset

/** The numbers of such a partition, each when the file says that it is there, and no more than one in a millisecond: who looks
  * finds a query in the middle of its rows.
  */
final private[engine] class EndlessNumbers(slice: EndlessNumberSlice) {
  import NumberedSource.{Partitions, available}

  private val file = Path.of(slice.file)
  private var count = slice.count
  private var known = 0L

  private def id(count: Long): Long = slice.index + count * Partitions

  /** @return
    *   false where none came in time
    */
  def next(timeoutMillis: Long): Boolean = {
    // When a row is asked for, the one before it is with the sink.
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

  def row: InternalRow = InternalRow(id(count - 1))

  def offset: PartitionOffset = NumberCount(slice.index, count)
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
    case slice: EndlessNumberSlice =>
      new ContinuousPartitionReader[InternalRow] {
        private val numbers = new EndlessNumbers(slice)
        override def next(): Boolean = numbers.next(Long.MaxValue)
        override def get(): InternalRow = numbers.row
        override def getOffset: PartitionOffset = numbers.offset
        override def close(): Unit = ()
      }
    case other => throw new IllegalArgumentException(s"not a partition of numbers: $other")
  }
}
