package io.epochal.kit.record

/** The records that one task reads, page after page. Used by the task's own thread only. */
private[epochal] trait Pages extends AutoCloseable {
  def records: Records

  /** The page's origin; None: it is unknown, or no column holds it. */
  def origin: Option[RecordOrigin]

  /** The number of the current record. */
  def index: Long

  /** The number of pages read. */
  def count: Long

  /** Moves to the next record, if there is one. */
  def next(): Boolean

  /** Whether the page was invalid and has been replaced: the new one is at the same record. */
  def replaced(): Boolean = false
}
