package io.epochal.cdc.reload

/** Why the rows of a table are read again.
  *
  * @param name
  *   the value of the option `verify`
  * @param mark
  *   in the names of files
  * @param delivers
  *   whether the rows replace those of a replica; else they are compared with them
  * @param isSlow
  *   whether they are read at the rate of comparisons, and an error does not end the query
  */
sealed abstract private[cdc] class ReloadPurpose(
    val name: String,
    val mark: String,
    val delivers: Boolean,
    val isSlow: Boolean)

private[cdc] object ReloadPurpose {
  case object Reload extends ReloadPurpose("", "", delivers = true, isSlow = false)
  case object Verify extends ReloadPurpose("compare", "v", delivers = false, isSlow = true)

  /** Verifies, and corrects what differs. */
  case object Repair extends ReloadPurpose("repair", "r", delivers = true, isSlow = true)

  val all: Seq[ReloadPurpose] = Seq(Reload, Verify, Repair)
}
