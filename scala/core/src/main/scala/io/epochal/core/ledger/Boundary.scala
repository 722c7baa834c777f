package io.epochal.core.ledger

/** The positions of the task partitions at the end of an epoch: rows delivered, whether they were stored then or before.
  *
  * @param trigger
  *   under which the rows after it are stored
  * @param offsetsHash
  *   of the offsets that Spark logged for the epoch; None if they were not logged yet
  */
final case class Boundary(epoch: Long, trigger: TriggerMode, offsetsHash: Option[String], ends: Map[Int, Position]) {

  def rows: Long = ends.valuesIterator.map(_.rows).sum
}
