package io.epochal.rest.sink

sealed private[rest] trait RowEffect

private[rest] object RowEffect {
  case object Stores extends RowEffect
  case object Deletes extends RowEffect

  /** Nothing: it is the image before an update. */
  case object Ignores extends RowEffect
}
