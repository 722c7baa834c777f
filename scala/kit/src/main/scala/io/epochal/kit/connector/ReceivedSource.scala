package io.epochal.kit.connector

import java.nio.ByteBuffer
import java.time.Duration
import java.util.concurrent.atomic.AtomicReference

import scala.jdk.CollectionConverters._
import scala.util.Try

import io.epochal.core.error.EpochalException
import io.epochal.core.journal.Segment
import io.epochal.kit.source.journal._
import io.epochal.kit.source.{Extent, InitialOffset, PollBounds, PollBudget, PollBudgets}

/** The driver's part of a receiving connector. */
final private[connector] class ReceivedSource[C](
    connector: ReceivingConnector[C],
    read: ConnectorRead,
    checkpoint: InitialOffset)
    extends ConnectorSource[C](connector, read.settings)
    with JournalledSource[ConnectorPosition[C]] {

  /** The delay between two calls in a continuous or real-time query, after an empty one. */
  private val Pause = Duration.ofMillis(50)
  private val calls = connector.calls(read.settings)
  private val origin = new ReceiverCalls(() => connector.open(read.settings, read.schema), calls)
  private val store = checkpoint.beside("journal")
  private val journal =
    new SourceJournal(store, identity, new ReceivedPositions[C], read.settings.lostRows(_, _, _), read.parts)

  override val polls: PollBudgets = new PollBudgets(PollBounds(Duration.ofSeconds(30), 64L << 20))
  private val feeding = Feeding(new FeedLog(store, identity), this, Pause)
  override val supply: ReceivedSupply[C] =
    new ReceivedSupply(origin, calls, connector, journal, new ReadAhead(polls), feeding)

  override def first: ConnectorPosition[C] =
    ConnectorPosition(0L, origin("read its first position")(_.first()))

  override def readerFactory: ReceivedReaderFactory[C] =
    ReceivedReaderFactory(read.inTask(connector), identity, store)

  override protected def feedRows: FeedRows = readerFactory

  override def metrics(rowsBehind: Option[Long]): Map[String, String] =
    Map("retries" -> calls.repeated.toString) ++ origin.metrics
}

/** A receiver that the first call opens, and calls of it. */
final private[connector] class ReceiverCalls[C](open: () => Receiver[C], author: AuthorCalls) extends AutoCloseable {
  @volatile private var isOpen = false

  private lazy val receiver: Receiver[C] = {
    val opened = author("opened its origin")(open())
    isOpen = true
    opened
  }

  def apply[A](step: String)(body: Receiver[C] => A): A = author(step)(body(receiver))

  def metrics: Map[String, String] =
    if (isOpen) author.once("gave its metrics")(receiver.metrics().asScala.toMap) else Map.empty

  override def close(): Unit = if (isOpen) author.once("closed its origin")(receiver.close())
}

final private[connector] class ReceivedPositions[C] extends JournalPositions[ConnectorPosition[C], C] {
  override def rows(at: ConnectorPosition[C]): Long = at.rows
  override def segments(at: ConnectorPosition[C]): Option[Seq[Segment]] = at.journal
  override def cursor(at: ConnectorPosition[C]): C = at.position

  override def after(start: ConnectorPosition[C], rows: Long, segments: Seq[Segment], cursor: C): ConnectorPosition[C] =
    ConnectorPosition(start.rows + rows, cursor, Some(segments))

  override def at(like: ConnectorPosition[C], row: Long): ConnectorPosition[C] = like.copy(rows = row, journal = None)
}

/** Writes received records to the journal: one frame per call, with int32 length and bytes for each record. */
final private[connector] class ReceivedSupply[C](
    origin: ReceiverCalls[C],
    calls: AuthorCalls,
    connector: ReceivingConnector[C],
    journal: SourceJournal[ConnectorPosition[C], C],
    ahead: ReadAhead,
    feeding: Feeding[ConnectorPosition[C]])
    extends JournalledSupply[ConnectorPosition[C], C](journal, ahead, Some(feeding)) {

  /** Maximum records of a call, and their bytes in a frame. */
  final private val MaxRecords = 10000
  final private val MaxBytes = 1L << 30

  /** The end of an epoch that is not yet released to the receiver. */
  private val lastDelivered = new AtomicReference[ConnectorPosition[C]]

  override protected def receive(
      tail: JournalTail[ConnectorPosition[C], C],
      most: Long,
      budget: PollBudget): Boolean = {
    Option(lastDelivered.getAndSet(null)).foreach(released)
    var atEnd = false
    while (!atEnd && tail.available < most && !budget.spent) {
      val limit = math.min(most - tail.available, MaxRecords.toLong).toInt
      val batch = origin("received records")(_.receive(tail.cursor, limit))
      val records = batch.records
      if (records.size > limit)
        throw calls.invalid("receive", s"asked for $limit records, it gave ${records.size}")
      tail.receive {
        if (!records.isEmpty) {
          val size = records.asScala.foldLeft(0L)(_ + _.length + 4)
          if (size > MaxBytes) throw calls.invalid("receive", s"it gave records of $size bytes at once")
          val frame = ByteBuffer.allocate(size.toInt)
          records.forEach(record => frame.putInt(record.length).put(record): Unit)
          tail.add(records.size, frame.array, 0, frame.capacity)
          budget.spend(frame.capacity.toLong)
        }
        batch.cursor
      }
      atEnd = batch.atEnd
    }
    report(Extent(tail.until, if (atEnd) tail.until else Long.MaxValue))
    !atEnd && budget.spent
  }

  override def release(end: ConnectorPosition[C]): Unit = {
    super.release(end)
    // One thread at a time calls the receiver: with a feed, the feed's own thread releases before it receives again.
    if (isFed) lastDelivered.set(end) else released(end)
  }

  private def released(end: ConnectorPosition[C]): Unit =
    origin("released records")(_.release(end.position))

  override protected def reset(): Unit = ()

  override protected def isTransient(error: EpochalException): Boolean = error.getCause match {
    case cause: Exception => connector.isTransient(cause)
    case _                => false
  }

  override def close(): Unit = {
    super.close()
    Option(lastDelivered.getAndSet(null)).foreach(end => Try(released(end)))
    origin.close()
  }
}
