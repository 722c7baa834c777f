package io.epochal.ingest

import java.util.concurrent.ConcurrentHashMap

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.journal.acknowledged.AcknowledgedJournal
import io.epochal.kit.source.journal.{FeedPlan, FeedView}

/** A journal that this JVM fills.
  *
  * @param ended
  *   why it does so no more
  */
final private case class LiveJournal(journal: AcknowledgedJournal, ended: () => Option[EpochalException])

/** By their directories: a reader in the same JVM is woken when there is more. */
private object LiveJournals {
  private val journals = new ConcurrentHashMap[String, LiveJournal]

  def add(directory: String, live: LiveJournal): Unit = journals.put(directory, live): Unit

  def remove(directory: String, journal: AcknowledgedJournal): Unit =
    journals.computeIfPresent(directory, (_, live) => if (live.journal eq journal) null else live): Unit

  def of(directory: String): Option[LiveJournal] = Option(journals.get(directory))
}

/** What the journal has, for a task without an end; what is not yet synced is not there. */
final private class IngestTail(factory: IngestReaderFactory, live: LiveJournal) extends FeedView {
  private val journal = live.journal

  override def await(row: Long, millis: Long): Option[FeedPlan] = {
    if (journal.isFenced) throw factory.fenced
    live.ended().foreach(throw _)
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

  def of(factory: IngestReaderFactory): FeedView =
    LiveJournals.of(factory.store.toString).fold(throw inAnotherProcess)(new IngestTail(factory, _))

  private def inAnotherProcess = Conditions.ModeUnsupported(
    "format" -> IngestOptions.Format,
    "mode" -> "be read by a continuous or real-time query on a cluster",
    "reason" -> "its end is known in the driver's process alone, and this task runs in another",
    "suggestion" -> "Use a micro-batch trigger, or local mode."
  )
}
