package io.epochal.core.ledger

/** Follows the rows of a task partition as they are delivered, and decides which are already stored.
  *
  * @param from
  *   the start of the epoch, which is the end of the one before
  * @param lastApplied
  *   up to where the partition's rows are stored; never before `from`
  * @param onDivergence
  *   called if the rows delivered up to `lastApplied` differ from the stored rows
  */
final class PartitionCursor(from: Position, lastApplied: Position, onDivergence: Position => Nothing) {
  private var count = from.rows
  private var rolling = from.digest
  if (count == lastApplied.rows && rolling != lastApplied.digest) onDivergence(from)

  /** Advances past a row.
    *
    * @param hash
    *   of the row
    * @return
    *   whether to store it
    */
  def advance(hash: Long): Boolean = {
    count += 1
    rolling = Position.digest(rolling, hash)
    if (count == lastApplied.rows && rolling != lastApplied.digest) onDivergence(position)
    count > lastApplied.rows
  }

  /** The position after the last row. */
  def position: Position = Position(count, rolling)
}
