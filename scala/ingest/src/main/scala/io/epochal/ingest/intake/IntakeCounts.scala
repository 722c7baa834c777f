package io.epochal.ingest.intake

import java.util.concurrent.atomic.LongAdder

/** What became of arrivals since the start of the run. Any thread. */
final private[epochal] class IntakeCounts {
  private val stored, duplicates, full, failed = new LongAdder

  private[intake] def count(receipt: Receipt): Unit = receipt match {
    case Receipt.Stored(records) => stored.add(records.toLong)
    case Receipt.Duplicate       => duplicates.increment()
    case Receipt.Full(_)         => full.increment()
    case Receipt.Failed(_)       => failed.increment()
  }

  /** For every progress: records that were acknowledged, and arrivals that were not stored. */
  def metrics: Map[String, String] = Map(
    "acknowledged" -> stored.sum.toString,
    "duplicates" -> duplicates.sum.toString,
    "refusedFull" -> full.sum.toString,
    "refusedFailed" -> failed.sum.toString
  )
}
