package io.epochal.core.limit

import java.time.Duration

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
