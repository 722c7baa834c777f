package io.epochal.random

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.connector.read.streaming.PartitionOffset

import io.epochal.core.offset.OffsetFormat

/** How far the stream has been delivered. Exclusive, as every offset: with `rows = 10` the ids 0 to 9 are delivered.
  *
  * One form serves every mode. A micro-batch delivers all ids below some number, so `partitions` is empty. In a continuous
  * query each partition goes at its own speed: of the ids from `rows` on, partition p of n delivers rows + p, rows + p + n,
  * rows + p + 2n, …, and `partitions(p)` says how many of them it has delivered.
  *
  * @param startedAt
  *   the first start of the query, in milliseconds since 1970: a steady rate counts from it
  * @param rowZero
  *   the timestamp of row 0 in microseconds since 1970, if the options did not set it when the query began; None in offsets of
  *   version 1, whose row 0 was at 1970-01-01
  */
final case class RandomPosition(
    rows: Long,
    startedAt: Long,
    partitions: Vector[Long] = Vector.empty,
    rowZero: Option[Long] = None) {

  /** The first id above all that were delivered. */
  def highWater: Long = partitions.zipWithIndex.foldLeft(rows) { case (high, (count, p)) =>
    if (count == 0) high else math.max(high, rows + p + (count - 1) * partitions.size + 1)
  }

  /** The lowest id at which all partitions can end together: none has delivered it. */
  def level: Long = {
    val n = math.max(1, partitions.size).toLong
    rows + (highWater - rows + n - 1) / n * n
  }

  /** How many rows have been delivered. */
  def delivered: Long = rows + partitions.sum

  /** The same position without `partitions`, if all have the same count. */
  def normal: RandomPosition =
    if (partitions.distinct.size == 1) at(rows + partitions.sum) else this

  /** The position of the same query when all ids below `end` are delivered. */
  def at(end: Long): RandomPosition = copy(rows = end, partitions = Vector.empty)
}

/** The JSON of a position, which Spark logs, compares and hands back. */
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

/** How far one partition of a continuous query has come. Spark merges the offsets of all partitions into one at each epoch.
  *
  * @param base
  *   the position from which the query started, without partitions
  */
final case class RandomPartitionOffset(base: RandomPosition, partition: Int, of: Int, count: Long)
    extends PartitionOffset
