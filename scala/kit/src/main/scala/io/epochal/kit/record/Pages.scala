package io.epochal.kit.record

/** What one task reads: records, page after page. Used by the task's own thread only. */
private[epochal] trait Pages extends AutoCloseable {

  /** The records of the page. */
  def records: Records

  /** Where the page came from; None: that is not known, or no column tells it. */
  def origin: Option[RecordOrigin]

  /** The number of the record that `next` stopped at. */
  def index: Long

  /** How many pages were read. */
  def count: Long

  /** Moves to the next record, if there is one. */
  def next(): Boolean

  /** Whether the page was not what it should be, and has been replaced: it stands at the same record then. */
  def replaced(): Boolean = false
}

/** Pages that a [[PageScan]] has read before, so that each is known to be whole. */
abstract private[epochal] class ScannedPages extends Pages {
  private var current: Records = NoRecords
  private var first = 0L
  private var wanted = 0
  private var passed = 0
  private var opened = 0L

  /** Opens the next page; false after the last. */
  protected def nextPage(): Boolean

  /** Stands before `take` records of a page, after its first `skip`; `index` is the number of the first of them. */
  final protected def open(page: Records, index: Long, skip: Int, take: Int): Unit = {
    current = page
    first = index
    wanted = take
    passed = 0
    opened += 1
    val _ = page.skip(skip.toLong)
  }

  final override def records: Records = current

  final override def index: Long = first + passed - 1

  final override def count: Long = opened

  @scala.annotation.tailrec
  final override def next(): Boolean =
    if (passed < wanted) {
      if (!current.next()) throw new IllegalStateException(s"a page of $wanted records has $passed")
      passed += 1
      true
    } else if (nextPage()) next()
    else false
}
