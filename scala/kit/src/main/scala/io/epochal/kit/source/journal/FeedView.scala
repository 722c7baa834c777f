package io.epochal.kit.source.journal

import io.epochal.core.error.Conditions
import io.epochal.core.journal.{FileStore, Journal, JournalPlan, Segment}

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
