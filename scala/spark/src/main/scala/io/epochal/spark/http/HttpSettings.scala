package io.epochal.spark.http

import java.time.Duration

import io.epochal.core.retry.RetrySettings

/** What all requests of a query have in common. Travels to the executors; prints without secrets.
  *
  * @param timeout
  *   how long to wait for a connection, and for the server's next bytes
  * @param maxResponseBytes
  *   the largest answer that is read, after decompression
  */
final case class HttpSettings(endpoint: Endpoint, timeout: Duration, retry: RetrySettings, maxResponseBytes: Long)
