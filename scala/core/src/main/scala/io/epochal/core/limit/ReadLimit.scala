package io.epochal.core.limit

import java.time.{Duration, Instant}

/** A limit on the part of a backlog that one micro-batch takes. */
sealed trait ReadLimit

object ReadLimit {

  /** All available rows. */
  case object Unlimited extends ReadLimit

  /** At most this many rows. */
  final case class MaxRows(rows: Long) extends ReadLimit

  /** No rows until this many are available, or `maxDelay` has passed since the last batch. */
  final case class MinRows(rows: Long, maxDelay: Duration) extends ReadLimit

  /** Whole rows of at most this many bytes, but at least one row: a limit never blocks a query. */
  final case class MaxBytes(bytes: Long) extends ReadLimit

  /** All of them at once: the smallest amount, and no rows while one of them waits. */
  final case class Composite(limits: Seq[ReadLimit]) extends ReadLimit

  def all(limits: Seq[ReadLimit]): ReadLimit = limits.filter(_ != Unlimited) match {
    case Seq()     => Unlimited
    case Seq(only) => only
    case several   => Composite(several)
  }
}

/** The rows available in a source.
  *
  * @param rows
  *   rows after the last offset
  * @param rowsWithin
  *   the number of whole rows from the start of the backlog that fit into so many bytes; all rows, for sources whose rows
  *   have no size
  */
final case class Backlog(rows: Long, rowsWithin: Long => Long) {
  require(rows >= 0, s"a backlog has no negative rows: $rows")
}

object Admission {

  /** The maximum number of rows that a limit can admit. A source that sends requests requests no more. */
  def ceiling(limit: ReadLimit): Long = limit match {
    case ReadLimit.MaxRows(rows)     => rows
    case ReadLimit.Composite(limits) => limits.map(ceiling).minOption.getOrElse(Long.MaxValue)
    case _                           => Long.MaxValue
  }

  /** The number of rows to take now: 0 if there are none, or while a minimum waits.
    *
    * @param lastBatch
    *   when the last batch with rows was planned; before the first one, when the query started
    */
  def admit(limit: ReadLimit, backlog: Backlog, lastBatch: Instant, now: Instant): Long = limit match {
    case ReadLimit.Unlimited      => backlog.rows
    case ReadLimit.MaxRows(rows)  => math.min(rows, backlog.rows)
    case ReadLimit.MaxBytes(size) => math.min(backlog.rows, math.max(1L, backlog.rowsWithin(size)))
    case ReadLimit.MinRows(rows, maxDelay) =>
      val due = Duration.between(lastBatch, now).compareTo(maxDelay) >= 0
      if (backlog.rows >= rows || due) backlog.rows else 0L
    case ReadLimit.Composite(limits) =>
      limits.map(admit(_, backlog, lastBatch, now)).minOption.getOrElse(backlog.rows)
  }
}
