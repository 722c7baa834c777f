package io.epochal.ingest.tcp

import java.time.Duration

import io.epochal.kit.access.Secret

/** How lines come by TCP.
  *
  * @param host
  *   to listen on, or of the server that is read
  * @param token
  *   what the first line of a connection must name
  * @param acknowledges
  *   whether clients get acknowledgements of what was stored
  * @param blanks
  *   whether an empty line is a record
  */
final private[epochal] case class TcpSettings(
    host: String,
    port: Int,
    token: Option[Secret],
    acknowledges: Boolean,
    maxLineBytes: Int,
    idleTimeout: Duration,
    maxConnections: Int,
    blanks: Boolean
)
