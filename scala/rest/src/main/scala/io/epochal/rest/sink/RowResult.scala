package io.epochal.rest.sink

sealed private[rest] trait RowResult

private[rest] object RowResult {
  case object Accepted extends RowResult

  /** A transient failure. */
  final case class Again(reason: String) extends RowResult
  final case class Refused(reason: String) extends RowResult
}
