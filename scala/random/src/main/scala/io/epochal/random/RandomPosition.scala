package io.epochal.random

/** Position in the stream. Exclusive, as every offset: with `rows = 10` the ids 0 to 9 have been delivered.
  *
  * The form is the same in every mode. A micro-batch delivers all ids below a number, so `partitions` is empty. In a continuous query
  * the partitions progress independently: partition p of n delivers the ids rows + p, rows + p + n, rows + p + 2n, …, and
  * `partitions(p)` is how many of them it has delivered.
  *
  * @param startedAt
  *   first start of the query, in milliseconds since 1970: the origin of a steady rate
  * @param rowZero
  *   timestamp of row 0 in microseconds since 1970, if the options did not set it at the first start; None in offsets of version 1,
  *   whose row 0 was at 1970-01-01
  */
final case class RandomPosition(
    rows: Long,
    startedAt: Long,
    partitions: Vector[Long] = Vector.empty,
    rowZero: Option[Long] = None) {

  /** One more than the highest delivered id. */
  def highWater: Long = partitions.zipWithIndex.foldLeft(rows) { case (high, (count, p)) =>
    if (count == 0) high else math.max(high, rows + p + (count - 1) * partitions.size + 1)
  }

  /** The lowest end that all partitions can reach together: no partition has delivered ids from it on. */
  def level: Long = {
    val n = math.max(1, partitions.size).toLong
    rows + (highWater - rows + n - 1) / n * n
  }

  def deliveredRows: Long = rows + partitions.sum

  /** The same position without `partitions`, if all counts are equal. */
  def normal: RandomPosition =
    if (partitions.distinct.size == 1) at(rows + partitions.sum) else this

  /** The position of the same query after all ids below `end` were delivered. */
  def at(end: Long): RandomPosition = copy(rows = end, partitions = Vector.empty)
}
