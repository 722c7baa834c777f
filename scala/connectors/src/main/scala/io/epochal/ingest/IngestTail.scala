package io.epochal.ingest

import java.util.concurrent.ConcurrentHashMap

import io.epochal.core.error.Conditions
import io.epochal.core.journal.acknowledged.AcknowledgedJournal
import io.epochal.kit.source.journal.{FeedPlan, FeedView}

/** The journals that this JVM fills, by their directories: a reader in the same JVM is woken when there is more. */
private object LiveJournals {
  private val journals = new ConcurrentHashMap[String, AcknowledgedJournal]

  def add(directory: String, journal: AcknowledgedJournal): Unit = journals.put(directory, journal): Unit

  def remove(directory: String, journal: AcknowledgedJournal): Unit = journals.remove(directory, journal): Unit

  def of(directory: String): Option[AcknowledgedJournal] = Option(journals.get(directory))
}

/** What the journal has, for a task without an end; what is not yet synced is not there. */
final private class IngestTail(factory: IngestReaderFactory, journal: AcknowledgedJournal) extends FeedView {

  override def await(row: Long, millis: Long): Option[FeedPlan] = {
    if (journal.isFenced) throw factory.fenced
    Option.when(journal.await(row, math.min(millis, IngestTail.FencedCheck))) {
      val until = math.min(journal.until, row + IngestTail.Rows)
      FeedPlan(journal.plan(row, until), until)
    }
  }
}

private object IngestTail {

  /** How often a wait looks whether another run has taken over, in milliseconds. */
  private val FencedCheck = 1000L

  /** Planned at once. */
  private val Rows = 100000L

  def of(factory: IngestReaderFactory): FeedView =
    LiveJournals.of(factory.store.toString).fold(throw elsewhere)(new IngestTail(factory, _))

  private def elsewhere = Conditions.ModeUnsupported(
    "format" -> IngestOptions.Format,
    "mode" -> "be read by a continuous or real-time query on a cluster",
    "reason" -> "its end is known in the driver's process alone, and this task runs in another",
    "suggestion" -> "Use a micro-batch trigger, or local mode."
  )
}
