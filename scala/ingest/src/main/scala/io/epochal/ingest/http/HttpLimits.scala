package io.epochal.ingest.http

import java.time.Duration

import io.epochal.ingest.http.body.RecordLimits

/** What clients may take of the driver.
  *
  * @param maxRequestBytes
  *   of a body, before decompression and after it
  * @param maxBufferedBytes
  *   of all bodies in memory at a time
  * @param maxHeaderBytes
  *   of a request's line and headers
  * @param headTimeout
  *   from the connection, or from the first byte of a later request, to the end of its headers
  * @param idleTimeout
  *   how long nothing may come
  * @param minBytesPerSecond
  *   of a body, on average from its first 10 seconds on
  */
final private[ingest] case class HttpLimits(
    maxRequestBytes: Int,
    maxRecordBytes: Int,
    maxRecords: Int,
    maxBufferedBytes: Long,
    maxHeaderBytes: Int,
    maxConnections: Int,
    headTimeout: Duration,
    idleTimeout: Duration,
    minBytesPerSecond: Long) {

  def records: RecordLimits = RecordLimits(maxRecordBytes, maxRecords)
}
