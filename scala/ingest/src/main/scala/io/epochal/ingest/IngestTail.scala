package io.epochal.ingest

import io.epochal.core.error.EpochalException
import io.epochal.core.journal.acknowledged.AcknowledgedJournal
import io.epochal.kit.source.journal.{FeedPlan, FeedView}

/** What the journal has, for a task without an end; what is not yet synced is not there.
  *
  * @param ended
  *   why nothing is received any more
  */
final private class IngestTail(
    journal: AcknowledgedJournal,
    ended: () => Option[EpochalException],
    fenced: => EpochalException)
    extends FeedView {

  override def await(row: Long, millis: Long): Option[FeedPlan] = {
    if (journal.isFenced) throw fenced
    ended().foreach(throw _)
    Option.when(journal.await(row, math.min(millis, IngestTail.EndedCheck))) {
      val until = math.min(journal.until, row + IngestTail.Rows)
      FeedPlan(journal.plan(row, until), until)
    }
  }
}

private object IngestTail {

  /** How often a wait looks whether the journal is still filled, in milliseconds. */
  private val EndedCheck = 1000L

  /** Planned at once. */
  private val Rows = 100000L
}
