package io.epochal.core.limit

import java.time.{Duration, Instant}

/** How much of a backlog one micro-batch may take. */
sealed trait ReadLimit

object ReadLimit {

  /** All there is. */
  case object Unlimited extends ReadLimit

  /** At most this many rows. */
  final case class MaxRows(rows: Long) extends ReadLimit

  /** Nothing until this many rows wait, or the last batch is `maxDelay` ago. */
  final case class MinRows(rows: Long, maxDelay: Duration) extends ReadLimit

  /** Whole rows of at most this many bytes, but one row at least: a limit never starves a query. */
  final case class MaxBytes(bytes: Long) extends ReadLimit

  /** All of them at once: the smallest amount, and nothing while one of them waits. */
  final case class Composite(limits: Seq[ReadLimit]) extends ReadLimit

  def all(limits: Seq[ReadLimit]): ReadLimit = limits.filter(_ != Unlimited) match {
    case Seq()     => Unlimited
    case Seq(only) => only
    case several   => Composite(several)
  }
}

/** What waits in a source.
  *
  * @param rows
  *   rows after the last offset
  * @param rowsWithin
  *   how many whole rows from the start of the backlog fit into so many bytes; sources whose rows have no size say all
  */
final case class Backlog(rows: Long, rowsWithin: Long => Long) {
  require(rows >= 0, s"a backlog has no negative rows: $rows")
}

object Backlog {
  def apply(rows: Long): Backlog = Backlog(rows, _ => rows)
}

object Admission {

  /** The maximum of rows that a limit can admit. A source that sends requests asks for no more. */
  def ceiling(limit: ReadLimit): Long = limit match {
    case ReadLimit.MaxRows(rows)     => rows
    case ReadLimit.Composite(limits) => limits.map(ceiling).minOption.getOrElse(Long.MaxValue)
    case _                           => Long.MaxValue
  }

  /** Rows to take now: 0 when there are none, or while a minimum waits.
    *
    * @param lastBatch
    *   when the last batch that took rows was planned; before the first one, when the query started
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
