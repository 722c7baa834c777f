package io.epochal.rest.source.task

import io.epochal.rest.source.paging.RestOptions
import io.epochal.rest.source.record.{BodyFormat, Records, RowColumns}

/** Records of a page: `take` of them, after the first `skip`.
  *
  * @param index
  *   the number of the first of them
  */
final private[rest] case class PagePart(index: Long, skip: Int, take: Int)

/** Pages that were read once from end to end when they were received: each of them is whole.
  *
  * @param shape
  *   of the pages
  */
abstract private[rest] class ScannedPages(options: RestOptions, columns: RowColumns, shape: BodyFormat)
    extends Pages(options, columns, shape) {

  private var part = PagePart(0, 0, 0)
  private var passed = 0
  private var opened = 0L

  /** Opens `answer`. */
  protected def page(): Records[format.Rows]

  /** Has `answer` be the next page, and says which of its records are wanted; None after the last. */
  protected def turn(): Option[PagePart]

  final override def index: Long = part.index + passed - 1

  final override def pages: Long = opened

  @scala.annotation.tailrec
  final override def next(): Boolean =
    if (passed < part.take) {
      if (!records.next()) throw new IllegalStateException(s"a page of ${part.take} records has $passed")
      passed += 1
      true
    } else
      turn() match {
        case None => false
        case Some(next) =>
          part = next
          passed = 0
          opened += 1
          open(page(), part.skip.toLong)
          this.next()
      }

  final override protected def replaced(): Boolean = false
}
