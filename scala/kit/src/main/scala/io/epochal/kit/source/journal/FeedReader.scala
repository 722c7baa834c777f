package io.epochal.kit.source.journal

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.streaming.PartitionOffset
import org.slf4j.LoggerFactory

import io.epochal.core.journal.{JournalPlan, Slice}
import io.epochal.kit.source.EndlessReader

/** Reads received rows, and waits for more at the end. */
final private class FeedReader(feed: FeedRows, view: FeedView, from: Long) extends EndlessReader {
  private val slices = mutable.Queue.empty[Slice]
  private val rows = feed.rows(new Iterator[Slice] {
    override def hasNext: Boolean = slices.nonEmpty
    override def next(): Slice = slices.dequeue()
  })
  private var plannedEnd = from
  private var after = from

  /** The longest wait, in milliseconds: a month. */
  final private val Longest = 30L * 24 * 3600 * 1000

  override def next(timeoutMillis: Long): Boolean = step() || {
    var left = math.min(timeoutMillis, Longest)
    val end = System.nanoTime() + left * 1000000L
    var found = false
    while (!found && left >= 0) {
      view.await(plannedEnd, left).foreach(plan)
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
    val hasRow = rows.next()
    after = if (hasRow) rows.number + 1 else plannedEnd
    hasRow
  }

  private def plan(more: JournalPlan): Unit = {
    more.gaps.foreach(gap => LoggerFactory.getLogger(getClass).warn(feed.lost(gap.from, gap.until, gap.reason)))
    slices ++= more.slices
    plannedEnd = more.until
  }
}
