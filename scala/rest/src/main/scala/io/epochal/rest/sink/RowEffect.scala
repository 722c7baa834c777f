package io.epochal.rest.sink

sealed private[rest] trait RowEffect

private[rest] object RowEffect {
  case object Stores extends RowEffect
  case object Deletes extends RowEffect

  /** The image before an update: nothing is sent. */
  case object Ignores extends RowEffect
}
