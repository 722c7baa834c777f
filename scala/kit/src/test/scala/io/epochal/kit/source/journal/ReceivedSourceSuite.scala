package io.epochal.kit.source.journal

import java.nio.ByteBuffer
import java.nio.file.Path
import java.time.{Clock, Duration}

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.PartitionReaderFactory
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset, ReadLimit}
import org.apache.spark.sql.types.StructType

import io.epochal.core.error.EpochalException
import io.epochal.core.journal.{FileStore, Segment, Slice}
import io.epochal.core.offset.OffsetFormat
import io.epochal.kit.source.{Extent, InitialOffset, PollBudget, PollBudgets, SourceOffset, SourceStream}
import io.epochal.kit.store.HadoopFileStore
import io.epochal.testkit.{SourceChecks, SourceFixture}

/** The smallest source that receives its rows: a feed of numbers. The kit does the rest. */
final class ReceivedSourceSuite extends SourceChecks {

  override def sourceName: String = Feed.Format

  override def newFixture(): SourceFixture = new SourceFixture {
    private val feed = new Feed

    override val schema: StructType = StructType.fromDDL("id BIGINT")

    override def newStream(checkpoint: Path, partitions: Int): MicroBatchStream = stream("feed", checkpoint, partitions)

    override def newStreamOfAnotherSource(checkpoint: Path): MicroBatchStream = stream("another", checkpoint, 2)

    private def stream(source: String, checkpoint: Path, partitions: Int): MicroBatchStream = {
      val initial = new InitialOffset(checkpoint.toString, new Configuration())
      new SourceStream(new FeedSource(source, feed, initial, partitions), initial, Clock.systemUTC())
    }

    override def makeAvailable(rows: Int): Unit = feed.size += rows

    override def rowsBefore(offset: Offset): Long = offset match {
      case SourceOffset(position: FeedPosition, _) => position.rows
      case other                                   => fail(s"not an offset of ours: $other")
    }

    override def keepsRows: Boolean = false

    override def endIsKnownAtStart: Boolean = false
  }
}

private class Feed {
  @volatile var size = 0

  /** The number, if it exists. */
  def take(number: Int): Option[Int] = Option.when(number < size)(number)
}

private object Feed {
  val Format = "a feed"

  def lost(from: Long, until: Long, reason: String): String =
    throw new IllegalStateException(s"$from to $until: $reason")
}

final private case class FeedPosition(rows: Long, journal: Option[Seq[Segment]], next: Int)

private object NumberOffset extends OffsetFormat[FeedPosition](Feed.Format, version = 1) {

  override protected def write(position: FeedPosition, fields: ObjectNode): Unit = {
    fields.put("rows", position.rows).put("next", position.next)
    position.journal.foreach(Segment.writeAll(_, fields))
  }

  override protected def read(version: Int, fields: ObjectNode): FeedPosition = FeedPosition(
    count(fields, "rows"),
    Option.when(fields.has("segments"))(Segment.readAll(fields)),
    count(fields, "next").toInt)
}

private object FeedPositions extends JournalPositions[FeedPosition, Int] {
  override def rows(position: FeedPosition): Long = position.rows
  override def segments(position: FeedPosition): Option[Seq[Segment]] = position.journal
  override def cursor(position: FeedPosition): Int = position.next
  override def after(start: FeedPosition, rows: Long, segments: Seq[Segment], cursor: Int): FeedPosition =
    FeedPosition(start.rows + rows, Some(segments), cursor)
  override def at(like: FeedPosition, row: Long): FeedPosition = FeedPosition(row, None, row.toInt)
}

final private class FeedSupply(
    feed: Feed,
    journal: SourceJournal[FeedPosition, Int],
    ahead: ReadAhead,
    feeding: Feeding[FeedPosition]
) extends JournalledSupply[FeedPosition, Int](journal, ahead, Some(feeding)) {

  override protected def receive(tail: JournalTail[FeedPosition, Int], most: Long, budget: PollBudget): Boolean = {
    var number = feed.take(tail.cursor)
    while (number.nonEmpty && tail.available < most) {
      tail.receive {
        number.foreach(one => tail.add(1, ByteBuffer.allocate(4).putInt(one).array(), 0, 4))
        tail.cursor + 1
      }
      number = feed.take(tail.cursor)
    }
    report(Extent(tail.until, if (number.isEmpty) tail.until else Long.MaxValue))
    false
  }

  override protected def reset(): Unit = ()

  override protected def isTransient(error: EpochalException): Boolean = false
}

final private class FeedSource(
    source: String,
    feed: Feed,
    initial: InitialOffset,
    parts: Int,
    maxBytes: Long = Feeding.MaxBytes)
    extends JournalledSource[FeedPosition] {
  val store: HadoopFileStore = initial.beside("journal")
  val log: FeedLog = new FeedLog(store, source)
  val journal: SourceJournal[FeedPosition, Int] =
    new SourceJournal(store, source, FeedPositions, Feed.lost(_, _, _), parts)
  private val ahead = new ReadAhead(PollBudgets.Unbounded)

  override def name: String = Feed.Format
  override def limit: ReadLimit = ReadLimit.allAvailable()
  override def first: FeedPosition = FeedPosition(0, None, 0)
  override def toJson(position: FeedPosition): String = NumberOffset.toJson(source, position)
  override def fromJson(json: String): Either[EpochalException, FeedPosition] = NumberOffset.fromJson(source, json)
  override val supply: FeedSupply =
    new FeedSupply(feed, journal, ahead, Feeding(log, this, Duration.ofMillis(10), maxBytes))
  override val feedRows: NumberReaderFactory = new NumberReaderFactory(source, store)
  override def readerFactory: PartitionReaderFactory = feedRows
  override def metrics(rowsBehind: Option[Long]): Map[String, String] = Map.empty
}

final private class NumberReaderFactory(override val source: String, override val store: HadoopFileStore)
    extends FeedRows {
  override def rows(slices: Iterator[Slice]): NumberReader = new NumberReader(slices, store, source)
  override def lost(from: Long, until: Long, reason: String): String = Feed.lost(from, until, reason)
}

final private class NumberReader(slices: Iterator[Slice], store: FileStore, source: String) extends JournalRows {
  private val frames = new JournalFrames(slices, store, source, Feed.lost(_, _, _))
  private val bytes = new Array[Byte](4)
  private var at = -1L

  override def next(): Boolean = {
    val found = frames.next(_ => bytes)
    found.foreach(slice => at = slice.first)
    found.nonEmpty
  }
  override def get(): InternalRow = InternalRow(ByteBuffer.wrap(bytes).getInt.toLong)
  override def number: Long = at
  override def close(): Unit = frames.close()
}
