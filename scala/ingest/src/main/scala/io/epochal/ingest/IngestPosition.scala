package io.epochal.ingest

/** Position in the stream: journal rows before `row` have been delivered. The same in every mode. */
final case class IngestPosition(row: Long)
