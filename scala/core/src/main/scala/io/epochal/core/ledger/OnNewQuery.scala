package io.epochal.core.ledger

/** Changes that the user accepts in the ledger. After the claim the ledger no longer holds an accepted id, so the same option,
  * left in a job, accepts nothing more.
  *
  * @param accepted
  *   ids of queries to take over from, of targets to leave, of sinks to write beside
  * @param replaces
  *   whether the first epoch of a query empties the target first
  */
final case class OnNewQuery(accepted: Set[String], replaces: Boolean = false)

object OnNewQuery {
  val Fail: OnNewQuery = OnNewQuery(Set.empty)
  val Replace: OnNewQuery = OnNewQuery(Set.empty, replaces = true)
}
