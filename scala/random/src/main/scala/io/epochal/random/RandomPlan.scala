package io.epochal.random

/** Distributes ids over partitions. Pure: the same offsets always give the same ids, on any number of partitions. */
object RandomPlan {

  /** All ids that `start` does not count as delivered, below `end.rows`.
    *
    * A start from a continuous or real-time query is ragged: below its high water only the ids that its partitions had not reached
    * remain. They become slices with a step; the ids above are split evenly.
    *
    * @param end
    *   a position without partitions, at or above the start's high water
    */
  def slices(start: RandomPosition, end: RandomPosition, numPartitions: Int): Seq[RandomSlice] = {
    require(end.partitions.isEmpty && end.rows >= start.highWater, s"cannot plan from $start to $end")
    val level = start.highWater
    val n = start.partitions.size.toLong
    val rest = start.partitions.zipWithIndex.map { case (count, p) =>
      RandomSlice(start.rows + p + count * n, n, level, start)
    }
    val rows = end.rows - level
    val bounds = (0 to numPartitions).map(i => level + (BigInt(rows) * i / numPartitions).toLong)
    val even = bounds.zip(bounds.tail).map { case (from, until) => RandomSlice(from, 1, until, start) }
    (rest ++ even).filter(slice => slice.first < slice.end)
  }

  /** The number of rows that exist at `now`, at a steady rate. */
  def steadyRows(rowsPerSecond: Long, startedAt: Long, now: Long): Long =
    if (now <= startedAt) 0L else ((BigInt(now - startedAt) * rowsPerSecond) / 1000).min(BigInt(Long.MaxValue)).toLong

  /** Time at which row `id` becomes available at a steady rate, in milliseconds since 1970. */
  def dueAt(id: Long, rowsPerSecond: Long, startedAt: Long): Long =
    startedAt + (((BigInt(id) + 1) * 1000 + rowsPerSecond - 1) / rowsPerSecond).toLong
}
