package io.epochal.kit.source.journal

import io.epochal.core.error.EpochalException
import io.epochal.core.journal.acknowledged.AcknowledgedJournal

/** Receives rows from an origin into a journal, on the driver and in threads of its own: it is started once, appends frames of
  * rows, each with its position in the origin or the state after it, and is stopped by `close`. Any thread may call it.
  */
trait AcknowledgedReceiver extends AutoCloseable {

  /** Closed with the receiver. */
  def journal: AcknowledgedJournal

  /** Begins to receive. Closes itself if that fails. */
  def start(): Unit

  /** The error that ended it before `close`. Rows before it are delivered first. */
  def ended: Option[EpochalException]

  /** Reports that the rows before `row` are delivered: they no longer count against its limit. */
  def deliveredUntil(row: Long): Unit

  /** Its entries in the query's progress. */
  def metrics: Map[String, String]
}
