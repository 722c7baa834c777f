package io.epochal.cdc

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.ObjectNode

import io.epochal.cdc.pgoutput.Lsn
import io.epochal.core.offset.OffsetFormat

/** JSON of a position, as Spark logs, compares and returns it. */
private[cdc] object CdcOffset extends OffsetFormat[CdcPosition](CdcOptions.Format, version = 3) {

  /** Older releases do not know typed rows of several tables, and chunks. */
  override protected def versionOf: CdcPosition => Int = position =>
    if (position.origin.inChunks) 3 else if (position.origin.rows == RowShape.Typed) 2 else 1

  override protected def write(position: CdcPosition, fields: ObjectNode): Unit = {
    val CdcPosition(row, origin) = position
    val CdcOrigin(
      slot,
      publication,
      system,
      timeline,
      start,
      snapshot,
      tables,
      newTables,
      table,
      isWatched,
      rows,
      inChunks) =
      origin
    fields.put("row", row).put("slot", slot).put("publication", publication).put("system", system)
    fields.put("timeline", timeline).put("start", Lsn.show(start)).put("snapshot", snapshot)
    if (tables.nonEmpty) {
      val oids = fields.putObject("tables")
      tables.toSeq.sorted.foreach { case (name, oid) => oids.put(name, oid) }
    }
    newTables.foreach(fields.put("newTables", _))
    table.foreach { case (name, oid) => fields.putObject("table").put("name", name).put("oid", oid) }
    if (isWatched) fields.put("watched", true)
    if (rows == RowShape.Typed) fields.put("rows", rows.name)
    if (inChunks) fields.put("chunks", true): Unit
  }

  override protected def read(version: Int, fields: ObjectNode): CdcPosition = {
    def text(name: String): String = {
      require(fields.path(name).isTextual, s"\"$name\" is missing")
      fields.path(name).textValue
    }
    val start = Lsn.read(text("start")).getOrElse(throw new IllegalArgumentException("\"start\" is no position"))
    CdcPosition(
      count(fields, "row"),
      CdcOrigin(
        text("slot"),
        text("publication"),
        text("system"),
        count(fields, "timeline"),
        start,
        fields.path("snapshot").asBoolean,
        fields.path("tables").properties.asScala.map(table => table.getKey -> table.getValue.longValue).toMap,
        Option(fields.get("newTables")).map(_.longValue),
        Option(fields.get("table")).map(table => table.get("name").textValue -> table.get("oid").longValue),
        fields.path("watched").asBoolean,
        if (fields.path("rows").asText == RowShape.Typed.name) RowShape.Typed else RowShape.Json,
        fields.path("chunks").asBoolean
      )
    )
  }
}
