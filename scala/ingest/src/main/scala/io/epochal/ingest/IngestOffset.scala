package io.epochal.ingest

import com.fasterxml.jackson.databind.node.ObjectNode

import io.epochal.core.offset.OffsetFormat

/** JSON of a position, as Spark logs, compares and returns it. */
object IngestOffset extends OffsetFormat[IngestPosition](IngestOptions.Format, version = 1) {

  override protected def write(position: IngestPosition, fields: ObjectNode): Unit =
    fields.put("row", position.row): Unit

  override protected def read(version: Int, fields: ObjectNode): IngestPosition = IngestPosition(count(fields, "row"))
}
