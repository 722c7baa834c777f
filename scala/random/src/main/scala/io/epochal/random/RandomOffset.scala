package io.epochal.random

import com.fasterxml.jackson.databind.node.ObjectNode

import io.epochal.core.offset.OffsetFormat

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
