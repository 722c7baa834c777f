package io.epochal.rest.sink

import org.apache.spark.sql.connector.write.WriterCommitMessage

import io.epochal.rest.http._

/** A task's message to the driver once each of its rows is accepted or rejected. */
final private[rest] case class RestTaskMessage(
    partition: Int,
    rows: Long,
    sentBytes: Long,
    counts: HttpCounts,
    refusedRows: Array[RefusedRow]
) extends WriterCommitMessage
