package io.epochal.core.ledger

/** The progress, in the ledger, of a query that stores rows in the middle of its epochs.
  *
  * {{{
  *   rows of a partition, as the source has them
  *   0 ────────── boundary(e - 1) ────── boundary(e) ─────── applied
  *   │   proven committed by Spark  │  may be run again        │
  *                                     rows that are owed: skipped when they are delivered again
  * }}}
  *
  * @param boundaries
  *   of the latest epochs
  * @param applied
  *   by task partition, up to where its rows are stored
  */
final case class Progress(boundaries: Seq[Boundary], applied: Map[Int, Position]) {

  def boundary(epoch: Long): Option[Boundary] = boundaries.find(_.epoch == epoch)

  /** The number of rows stored beyond a boundary. */
  def owed(boundary: Boundary): Long =
    boundary.ends.iterator.map { case (partition, end) => applied.get(partition).fold(0L)(_.rows - end.rows) }.sum

  /** The number of rows stored beyond the last boundary, for people: not negative if it was read while tasks store more. */
  def beyond: Option[Long] = boundaries.maxByOption(_.epoch).map(last => math.max(0L, owed(last)))

  /** The reason why the positions cannot be those of one query that resumed from the boundary. */
  private[ledger] def contradiction(boundary: Boundary): Option[String] = {
    val partitions = boundary.ends.keySet
    if (partitions != (0 until partitions.size).toSet || partitions != applied.keySet)
      Some(s"it has ends of ${partitions.size} partitions, and progress of ${applied.size}")
    else
      boundary.ends.toSeq.sortBy(_._1).collectFirst {
        case (partition, end) if applied(partition).rows < end.rows =>
          s"partition $partition had delivered ${end.rows} rows, but only ${applied(partition).rows} are stored"
        case (partition, end) if applied(partition).rows == end.rows && applied(partition) != end =>
          s"partition $partition has other rows than it had delivered"
      }
  }
}

object Progress {
  val Empty: Progress = Progress(Nil, Map.empty)
}
