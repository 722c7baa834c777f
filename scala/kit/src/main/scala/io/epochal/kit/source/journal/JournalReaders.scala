package io.epochal.kit.source.journal

import java.io.{EOFException, IOException}
import java.net.InetAddress
import java.nio.file.NoSuchFileException
import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable
import scala.util.{Try, Using}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.streaming.PartitionOffset
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.journal._
import io.epochal.kit.source.{ContinuousSource, EndlessReader, EndlessReaderFactory}
import io.epochal.kit.spark.QueryStop
import io.epochal.kit.store.HadoopFileStore

/** A source that receives its rows into a journal, for continuous and real-time queries too: the driver receives continuously,
  * and one task follows the end of the journal.
  */
trait FedSource[P] extends ContinuousSource[P] {

  /** Begins to receive continuously, after a position from which a task reads on.
    *
    * @return
    *   the row at which the task begins
    */
  protected def follow(start: P): Long

  /** The position at a row up to which a task has read. */
  protected def followedTo(row: Long): P

  protected def feedRows: FeedRows

  /** Whether a [[FeedLog]] shows the rows to tasks in other processes. */
  protected def isLogged: Boolean

  final override def endlessPartitions(start: P): Array[InputPartition] = Array(FeedPartition(follow(start)))

  final override def endlessReaders: EndlessReaderFactory = {
    val (feed, logged) = (feedRows, isLogged)
    partition =>
      partition match {
        case FeedPartition(row) => new FeedReader(feed, FeedView.of(feed, logged), row)
        case other              => throw new IllegalArgumentException(s"not a partition of a feed: $other")
      }
  }

  final override def merge(offsets: Seq[PartitionOffset]): P =
    followedTo(offsets.collect { case FeedOffset(row) => row }.max)
}

/** The rows of journal slices, in order. After the end, reading continues if more slices have been added. */
trait JournalRows extends PartitionReader[InternalRow] {

  /** The journal's number of the record behind the row. */
  def number: Long
}

/** Creates rows from what a feed has received. */
trait FeedRows extends PartitionReaderFactory {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case JournalPartition(slices) => rows(slices.iterator)
    case other                    => throw new IllegalArgumentException(s"not a partition of $source: $other")
  }

  /** The journal's directory. */
  def store: HadoopFileStore

  /** The identity that offsets carry. */
  def source: String

  def rows(slices: Iterator[Slice]): JournalRows

  /** The frames of slices of the feed's journal. */
  final protected def frames(slices: Iterator[Slice]): JournalFrames =
    new JournalFrames(slices, store, source, lost(_, _, _))

  /** As in [[SourceJournal]]. */
  def lost(from: Long, until: Long, reason: String): String
}

/** All rows from one on, without an end: one partition, with the rows in order of receipt. */
final private[journal] case class FeedPartition(row: Long) extends InputPartition

final private[journal] case class FeedOffset(row: Long) extends PartitionOffset

/** A reader's view of a feed. */
trait FeedView {

  /** The slices to read from a row on; waits at most `millis` for them. None: there are none yet. */
  def await(row: Long, millis: Long): Option[JournalPlan]
}

private object FeedView {

  /** The feed that an endless reader follows.
    *
    * @param isLogged
    *   as in [[FedSource]]
    * @throws io.epochal.core.error.EpochalException
    *   FEED_FAILED, if there is no such feed in this process, and no log
    */
  def of(feed: FeedRows, isLogged: Boolean): FeedView = LiveFeeds
    .of(feed.store)
    .getOrElse(if (isLogged) new LoggedFeed(feed)
    else
      throw Conditions.FeedFailed("source" -> feed.source, "reason" -> "it receives in another process, or has ended."))

  /** Plans the rows of segments after a row, with a separate journal: a journal remembers the frames of all segments that it
    * has planned.
    */
  def plan(store: FileStore, source: String, segments: Seq[Segment], row: Long): Option[JournalPlan] =
    segments.lastOption.map(last => new Journal(store, source).plan(segments, row, last.until))
}

/** The feeds of this JVM, by the directories of their journals: wakes readers in the same JVM when there is more. */
private[epochal] object LiveFeeds {
  private val feeds = new ConcurrentHashMap[String, FeedView]

  def add(store: FileStore, feed: FeedView): Unit = feeds.put(store.toString, feed): Unit

  def remove(store: FileStore, feed: FeedView): Unit = feeds.remove(store.toString, feed): Unit

  def of(store: FileStore): Option[FeedView] = Option(feeds.get(store.toString))
}

/** A feed on a driver in another process, through its log, which is read repeatedly (F2). */
final private class LoggedFeed(rows: FeedRows) extends FeedView {
  final private val PauseMillis = 100L

  override def await(row: Long, millis: Long): Option[JournalPlan] = {
    val newest = FeedLog.newest(rows.store, rows.source)
    val found = newest.map { case (_, received) => received.segments.filter(_.until > row) }.filter(_.nonEmpty)
    // Checked after the file was read.
    def isLast = newest.exists { case (generation, _) =>
      Generation.highest(FeedLog.generations(rows.store)) <= generation
    }
    val plan = found.filter(_ => isLast).flatMap(FeedView.plan(rows.store, rows.source, _, row))
    if (plan.isEmpty) {
      newest.flatMap(_._2.failure).foreach { reason =>
        throw Conditions.FeedFailed("source" -> rows.source, "reason" -> reason)
      }
      if (millis > 0) Thread.sleep(math.min(millis, PauseMillis))
    }
    plan
  }
}

/** Reads received rows, and waits for more at the end. */
final private class FeedReader(feed: FeedRows, view: FeedView, from: Long) extends EndlessReader {
  private val slices = mutable.Queue.empty[Slice]
  private val rows = feed.rows(new Iterator[Slice] {
    override def hasNext: Boolean = slices.nonEmpty
    override def next(): Slice = slices.dequeue()
  })
  private var planned = from
  private var after = from

  /** The longest wait, in milliseconds: a month. */
  final private val Longest = 30L * 24 * 3600 * 1000

  override def next(timeoutMillis: Long): Boolean = step() || {
    var left = math.min(timeoutMillis, Longest)
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

  override def get(): InternalRow = rows.get()

  override def offset: PartitionOffset = FeedOffset(after)

  override def close(): Unit = rows.close()

  /** Skips records without rows, together with those before them. */
  private def step(): Boolean = {
    val found = rows.next()
    after = if (found) rows.number + 1 else planned
    found
  }

  private def plan(more: JournalPlan): Unit = {
    more.gaps.foreach(gap => LoggerFactory.getLogger(getClass).warn(feed.lost(gap.from, gap.until, gap.reason)))
    slices ++= more.slices
    planned = more.until
  }
}

/** The frames that a task reads, in order. */
trait Frames extends AutoCloseable {

  /** Reads the next frame; None if there is none now.
    *
    * @param into
    *   returns an array with room for the given number of bytes
    * @return
    *   which of its rows to deliver
    */
  def next(into: Int => Array[Byte]): Option[Slice]
}

/** The frames of a task's slices, in order, on an executor. A damaged frame is a loss of its rows. A segment that cannot be
  * opened is not: it existed when the driver planned the task.
  *
  * @param slices
  *   may return more after it was empty: reading then continues
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
) extends Frames {

  private var file = Option.empty[(String, FileInput)]

  /** Slices of an object store, and the files' parts with them. */
  private val fetched = mutable.Queue.empty[(Slice, FileInput)]

  /** Reads the next intact frame. */
  @scala.annotation.tailrec
  override def next(into: Int => Array[Byte]): Option[Slice] = {
    if (fetched.isEmpty && !store.syncsOpenFiles) fetch()
    if (fetched.isEmpty && !slices.hasNext) {
      // A file that is still being written is longer when it is reopened.
      close()
      None
    } else {
      val (slice, input) =
        if (fetched.nonEmpty) fetched.dequeue()
        else {
          val slice = slices.next()
          (slice, opened(slice.segment))
        }
      if (isRead(slice, input, into)) Some(slice) else next(into)
    }
  }

  override def close(): Unit = {
    file.foreach(_._2.close())
    file = None
  }

  /** Reads many small files of an object store together, each by one request. */
  private def fetch(): Unit = {
    val parts = mutable.ArrayBuffer.empty[Vector[Slice]]
    var bytes = 0L
    while (slices.hasNext && bytes < JournalFrames.FetchedBytes && parts.sizeIs < JournalFrames.FetchedFiles) {
      val slice = slices.next()
      bytes += slice.frame.length
      if (parts.lastOption.exists(_.last.segment == slice.segment)) parts(parts.size - 1) :+= slice
      else parts += Vector(slice)
    }
    ParallelReads(parts.toSeq)(part)(fetched ++= _)
  }

  /** A part of a file; of a file that is cut off, each frame by itself. */
  private def part(slices: Vector[Slice]): Vector[(Slice, FileInput)] = {
    val (from, until) = (slices.head.frame.position, slices.last.frame.position + slices.last.frame.length)
    try
      Using.resource(store.open(slices.head.segment, until)) { whole =>
        val input = FileInput.of(FileInput.bytes(whole, from, until), from)
        slices.map(_ -> input)
      }
    catch {
      case _: EOFException if slices.size > 1             => slices.flatMap(slice => part(Vector(slice)))
      case _: EOFException                                => slices.map(_ -> FileInput.of(Array.emptyByteArray))
      case e: IOException if !QueryStop.isInterruption(e) => throw unseen(e)
    }
  }

  private def isRead(slice: Slice, input: FileInput, into: Int => Array[Byte]): Boolean =
    try {
      Journal.read(input, slice)(into)
      true
    } catch {
      case damage: JournalDamage =>
        LoggerFactory
          .getLogger(classOf[JournalFrames])
          .warn(lost(slice.first, slice.first + slice.take, damage.getMessage))
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

  /** Of an object store, how much is read before it is delivered. */
  val FetchedBytes: Long = 16L << 20
  val FetchedFiles: Int = 4 * ParallelReads.Width
}
