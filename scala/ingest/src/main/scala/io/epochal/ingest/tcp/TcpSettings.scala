package io.epochal.ingest.tcp

import java.time.Duration

import io.epochal.kit.access.Secret

/** Settings for lines over TCP, of a [[TcpListener]] or a [[TcpReceiver]].
  *
  * @param host
  *   the address to listen on, or the server to read from
  * @param token
  *   the token of the first line of each connection, `TOKEN <token>`; None: the first line is a record
  * @param acknowledges
  *   whether each client receives the number of its lines stored so far, as `OK <number>`
  * @param namesRun
  *   whether such a line ends with the intake's run, ` <run>`
  * @param maxLineBytes
  *   a longer line ends its connection
  * @param idleTimeout
  *   time without input after which a client is disconnected; 0: never
  * @param blanks
  *   whether an empty line is a record
  */
final private[epochal] case class TcpSettings(
    host: String,
    port: Int,
    token: Option[Secret],
    acknowledges: Boolean,
    namesRun: Boolean,
    maxLineBytes: Int,
    idleTimeout: Duration,
    maxConnections: Int,
    blanks: Boolean
)
