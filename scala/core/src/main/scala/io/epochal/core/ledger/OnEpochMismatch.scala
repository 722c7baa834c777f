package io.epochal.core.ledger

/** The policy for a replayed epoch whose offsets cannot be read. */
sealed abstract class OnEpochMismatch(val name: String)

object OnEpochMismatch {
  case object Fail extends OnEpochMismatch("fail")
  case object Keep extends OnEpochMismatch("keep")

  val all: Seq[OnEpochMismatch] = Seq(Fail, Keep)
}
