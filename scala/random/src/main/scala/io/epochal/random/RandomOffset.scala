package io.epochal.random

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.connector.read.streaming.PartitionOffset

import io.epochal.core.offset.OffsetFormat

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

  /** Number of delivered rows. */
  def delivered: Long = rows + partitions.sum

  /** The same position without `partitions`, if all counts are equal. */
  def normal: RandomPosition =
    if (partitions.distinct.size == 1) at(rows + partitions.sum) else this

  /** The position of the same query after all ids below `end` were delivered. */
  def at(end: Long): RandomPosition = copy(rows = end, partitions = Vector.empty)
}

/** JSON of a position, as Spark logs, compares and returns it. */
object RandomOffset extends OffsetFormat[RandomPosition](RandomOptions.Format, version = 2) {

  override protected def versionOf: RandomPosition => Int = position => if (position.rowZero.isEmpty) 1 else 2

  override protected def write(position: RandomPosition, fields: ObjectNode): Unit = {
    fields.put("rows", position.rows).put("startedAt", position.startedAt)
    if (position.partitions.nonEmpty) {
      val counts = fields.putArray("partitions")
      position.partitions.foreach(counts.add(_))
    }
    position.rowZero.foreach(fields.put("rowZero", _))
  }

  override protected def read(version: Int, fields: ObjectNode): RandomPosition = {
    val counts = Option(fields.get("partitions")).fold(Vector.empty[Long]) { node =>
      Vector.tabulate(node.size)(p => node.get(p).longValue)
    }
    require(counts.forall(_ >= 0), "\"partitions\" has a negative count")
    val rowZero = Option.when(version > 1)(count(fields, "rowZero"))
    RandomPosition(count(fields, "rows"), count(fields, "startedAt"), counts, rowZero)
  }
}

/** Position of one partition of a continuous query. Spark merges the offsets of all partitions at each epoch.
  *
  * @param base
  *   start position of the query, without partitions
  */
final case class RandomPartitionOffset(base: RandomPosition, partition: Int, of: Int, count: Long)
    extends PartitionOffset
