package io.epochal.cdc.pgoutput

/** The operation of a [[Message.Change]]. */
sealed private[cdc] trait ChangeKind

private[cdc] object ChangeKind {
  case object Insert extends ChangeKind
  case object Update extends ChangeKind
  case object Delete extends ChangeKind
}
