package io.epochal.ingest

import com.fasterxml.jackson.databind.node.ObjectNode

import io.epochal.core.offset.OffsetFormat

/** How far the stream has been delivered: the rows of the journal before `row`. The same in every mode. */
final case class IngestPosition(row: Long)

/** The JSON of a position: what Spark logs, compares and hands back. */
object IngestOffset extends OffsetFormat[IngestPosition](IngestOptions.Format, version = 1) {

  override protected def write(position: IngestPosition, fields: ObjectNode): Unit = {
    fields.put("row", position.row)
    ()
  }

  override protected def read(version: Int, fields: ObjectNode): IngestPosition = IngestPosition(count(fields, "row"))
}
