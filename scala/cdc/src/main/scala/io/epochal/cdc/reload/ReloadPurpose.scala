package io.epochal.cdc.reload

/** Why the rows of a table are read again.
  *
  * @param name
  *   the value of the option `verify`
  * @param mark
  *   in the names of files
  * @param compares
  *   whether the rows are compared with those of a replica: they are read at the rate of comparisons, and an error does not end the
  *   query. Else they replace those rows
  * @param isFollowing
  *   whether the query has requested them, since it needs them
  * @param inChunks
  *   whether they are read in chunks, if the key allows it
  */
sealed abstract private[cdc] class ReloadPurpose(
    val name: String,
    val mark: String,
    val compares: Boolean,
    val isFollowing: Boolean,
    val inChunks: Boolean) {

  /** For the log. */
  def verb: String = if (compares) "verifies" else if (inChunks) "loads" else "reloads"
}

private[cdc] object ReloadPurpose {
  case object Reload extends ReloadPurpose("", "", compares = false, isFollowing = false, inChunks = false)
  case object Verify extends ReloadPurpose("compare", "v", compares = true, isFollowing = false, inChunks = true)

  /** Verifies, and has the sink correct what differs. */
  case object Repair extends ReloadPurpose("repair", "r", compares = true, isFollowing = false, inChunks = true)

  /** Delivers what the log does not have, after a change of the table that the query follows. */
  case object Follow extends ReloadPurpose("", "f", compares = false, isFollowing = true, inChunks = false)

  /** The same; until then the table's changes are withheld: it was added, or has columns of other types. */
  case object Replace extends ReloadPurpose("", "w", compares = false, isFollowing = true, inChunks = false)

  /** Delivers a table for the first time; the changes of rows that are not delivered yet are withheld. */
  case object Load extends ReloadPurpose("", "l", compares = false, isFollowing = true, inChunks = true)

  val all: Seq[ReloadPurpose] = Seq(Reload, Verify, Repair, Follow, Replace, Load)
}
