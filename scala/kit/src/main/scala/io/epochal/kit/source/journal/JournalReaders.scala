package io.epochal.kit.source.journal

import java.io.IOException
import java.net.InetAddress
import java.nio.file.NoSuchFileException
import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable
import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.connector.read.streaming.PartitionOffset
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.journal.{FileInput, FileStore, Generation, Journal, JournalDamage, JournalPlan, Segment, Slice}
import io.epochal.kit.source.{ContinuousSource, EndlessReader, EndlessReaderFactory}
import io.epochal.kit.spark.QueryStop
import io.epochal.kit.store.HadoopFileStore

/** A source that receives its rows into a journal, in continuous and real-time queries as well: the driver receives on and on, and one
  * task follows the end of the journal.
  */
trait FedSource[P] extends ContinuousSource[P] {

  /** Receives from now on without being asked, behind a position from which a task reads on.
    *
    * @return
    *   the row at which the task begins
    */
  protected def follow(start: P): Long

  /** The position at a row that a task has read up to. */
  protected def followedTo(row: Long): P

  protected def feedRows: FeedRows

  final override def endlessPartitions(start: P): Array[InputPartition] = Array(FeedPartition(follow(start)))

  final override def endlessReaders: EndlessReaderFactory = new FeedReaders(feedRows)

  final override def merge(offsets: Seq[PartitionOffset]): P =
    followedTo(offsets.collect { case FeedOffset(row) => row }.max)
}

/** The rows of slices of a journal, in its order. After its end it reads on where there are more slices then. */
trait JournalRows extends AutoCloseable {
  def next(): Boolean

  /** Valid until `next` is called again. */
  def row: InternalRow

  /** The number in the journal of the record that `row` was made of. */
  def number: Long
}

/** Makes rows of what a feed has received. Travels to the executors. */
trait FeedRows extends Serializable {

  /** What an endless reader follows, on an executor. */
  final def view(): FeedView = LiveFeeds.of(store).getOrElse(remoteView())

  /** The same where the feed is in another process. */
  protected def remoteView(): FeedView = new LoggedFeed(this)

  /** The journal's directory. */
  def store: HadoopFileStore

  /** The identity that offsets carry. */
  def source: String

  def rows(slices: Iterator[Slice]): JournalRows

  /** As in [[SourceJournal]]. */
  def lost(from: Long, until: Long, reason: String): String
}

/** All rows from one on, without an end: one partition, whose rows are in the order in which they were received. */
final private[journal] case class FeedPartition(row: Long) extends InputPartition

final private[journal] case class FeedOffset(row: Long) extends PartitionOffset

final class FeedReaders(feed: FeedRows) extends EndlessReaderFactory {

  override def createReader(partition: InputPartition): EndlessReader = partition match {
    case FeedPartition(row) => new FeedReader(feed, feed.view(), row)
    case other              => throw new IllegalArgumentException(s"not a partition of a feed: $other")
  }
}

/** What a reader reads next.
  *
  * @param until
  *   the row behind it
  */
final case class FeedPlan(plan: JournalPlan, until: Long)

/** What a feed has received. */
trait FeedView {

  /** What is to be read from a row on, and waits for it no longer than so many milliseconds. None: nothing is there yet. */
  def await(row: Long, millis: Long): Option[FeedPlan]
}

private object FeedView {

  /** What segments have behind a row. Planned by a journal of its own: one remembers the frames of all that it has planned. */
  def plan(store: FileStore, source: String, segments: Seq[Segment], row: Long): Option[FeedPlan] =
    segments.lastOption.map { last =>
      FeedPlan(new Journal(store, source).plan(segments, row, last.until), last.until)
    }
}

/** The feeds of this JVM, by the directories of their journals: a reader in the same JVM is woken when there is more. */
private[epochal] object LiveFeeds {
  private val feeds = new ConcurrentHashMap[String, FeedView]

  def add(store: FileStore, feed: FeedView): Unit = feeds.put(store.toString, feed): Unit

  def remove(store: FileStore, feed: FeedView): Unit = feeds.remove(store.toString, feed): Unit

  def of(store: FileStore): Option[FeedView] = Option(feeds.get(store.toString))
}

/** The feed of a driver in another process: what its log says, looked at again and again (F2). */
final private class LoggedFeed(rows: FeedRows) extends FeedView {

  override def await(row: Long, millis: Long): Option[FeedPlan] = {
    val newest = FeedLog.newest(rows.store, rows.source)
    val found = newest.map { case (_, received) => received.segments.filter(_.until > row) }.filter(_.nonEmpty)
    // Asked after the file was read.
    def isLast = newest.exists { case (generation, _) =>
      Generation.highest(FeedLog.generations(rows.store)) <= generation
    }
    val plan = found.filter(_ => isLast).flatMap(FeedView.plan(rows.store, rows.source, _, row))
    if (plan.isEmpty) {
      newest.flatMap(_._2.failure).foreach { reason =>
        throw Conditions.FeedFailed("source" -> rows.source, "reason" -> reason)
      }
      if (millis > 0) Thread.sleep(math.min(millis, LoggedFeed.PauseMillis))
    }
    plan
  }
}

private object LoggedFeed {
  val PauseMillis = 100L
}

/** Reads what a feed has received, and waits for more where there is nothing. */
final private class FeedReader(feed: FeedRows, view: FeedView, from: Long) extends EndlessReader {
  private val slices = mutable.Queue.empty[Slice]
  private val rows = feed.rows(new Iterator[Slice] {
    override def hasNext: Boolean = slices.nonEmpty
    override def next(): Slice = slices.dequeue()
  })
  private var planned = from
  private var after = from

  override def next(timeoutMillis: Long): Boolean = step() || {
    var left = math.min(timeoutMillis, FeedReader.Longest)
    val end = System.nanoTime() + left * 1000000L
    var found = false
    while (!found && left >= 0) {
      view.await(planned, left).foreach(plan)
      found = step()
      val nanos = end - System.nanoTime()
      left = if (nanos > 0) (nanos + 999999L) / 1000000L else -1L
    }
    found
  }

  override def get(): InternalRow = rows.row

  override def offset: PartitionOffset = FeedOffset(after)

  override def close(): Unit = rows.close()

  /** What gives no row is passed with what comes before it. */
  private def step(): Boolean = {
    val found = rows.next()
    after = if (found) rows.number + 1 else planned
    found
  }

  private def plan(more: FeedPlan): Unit = {
    more.plan.gaps.foreach(gap => FeedReader.log.warn(feed.lost(gap.from, gap.until, gap.reason)))
    slices ++= more.plan.slices
    planned = more.until
  }
}

private object FeedReader {
  private val log = LoggerFactory.getLogger(classOf[FeedReader])

  /** Of a wait, in milliseconds: a month. */
  private val Longest = 30L * 24 * 3600 * 1000
}

/** The frames of a task's slices, in order, on an executor. A frame that is not what was written is a loss of its rows. A segment
  * that cannot be opened is none: the driver saw it when it planned the task.
  *
  * @param slices
  *   may have more when it had none: what follows an end reads on then
  * @param source
  *   the identity that offsets carry
  * @param lost
  *   as in [[SourceJournal]]
  */
final class JournalFrames(
    slices: Iterator[Slice],
    store: FileStore,
    source: String,
    lost: (Long, Long, String) => String
) extends AutoCloseable {

  private var file = Option.empty[(String, FileInput)]

  /** Reads the next frame that is whole; None where there is none now.
    *
    * @param into
    *   gives an array with room for so many bytes
    * @return
    *   which of its rows are wanted
    */
  @scala.annotation.tailrec
  def next(into: Int => Array[Byte]): Option[Slice] =
    if (!slices.hasNext) {
      // One that is still written to is longer when it is opened again.
      close()
      None
    } else {
      val slice = slices.next()
      if (isRead(slice, into)) Some(slice) else next(into)
    }

  override def close(): Unit = {
    file.foreach(_._2.close())
    file = None
  }

  private def isRead(slice: Slice, into: Int => Array[Byte]): Boolean =
    try {
      Journal.read(opened(slice.segment), slice)(into)
      true
    } catch {
      case damage: JournalDamage =>
        JournalFrames.log.warn(lost(slice.first, slice.first + slice.take, damage.getMessage))
        false
    }

  private def opened(segment: String): FileInput =
    file.collect { case (name, input) if name == segment => input }.getOrElse {
      close()
      val input =
        try store.open(segment)
        catch { case e: IOException if !QueryStop.isInterruption(e) => throw unseen(e) }
      file = Some(segment -> input)
      input
    }

  private def unseen(error: IOException): EpochalException = {
    val reason = error match {
      case _: NoSuchFileException => "it is not there"
      case _                      => Option(error.getMessage).getOrElse(error.getClass.getSimpleName)
    }
    val host = Try(InetAddress.getLocalHost.getHostName).getOrElse("its host is not known")
    Conditions.JournalNotShared
      .because(error)("host" -> host, "source" -> source, "path" -> store, "reason" -> reason)
  }
}

private object JournalFrames {
  private val log = LoggerFactory.getLogger(classOf[JournalFrames])
}
