package io.epochal.ingest.http

import java.nio.charset.Charset
import java.time.Duration
import javax.net.ssl.SSLContext

import io.epochal.core.option.OptionValues
import io.epochal.ingest.http.auth.AdmissionSettings
import io.epochal.ingest.http.body.{BodyFormat, RecordLimits}

/** Settings of an HTTP listener. `toString` contains no secrets.
  *
  * @param idleTimeout
  *   silence after which a connection is closed
  * @param admission
  *   None: no credentials are required
  * @param kind
  *   how records are parsed: text, json or csv
  */
final private[ingest] class ListenerSettings(
    values: OptionValues,
    val maxConnections: Int,
    val idleTimeout: Duration,
    val admission: Option[AdmissionSettings],
    val tls: Option[SSLContext],
    kind: String) {
  import IngestHttpOptions._

  /** Maximum bytes of a body, before and after decompression. */
  val maxRequestBytes: Int = values(MaxRequestBytes).toInt

  val records: RecordLimits =
    RecordLimits(math.min(values(MaxRecordBytes), maxRequestBytes.toLong).toInt, values(MaxRecordsPerRequest))

  /** Maximum bytes of all bodies in memory. */
  val maxBufferedBytes: Long = values(MaxBufferedBytes)

  /** Maximum bytes of the request line and headers. */
  val maxHeaderBytes: Int = values(MaxHeaderBytes).toInt

  /** From connect, or from the first byte of a later request, to the end of the headers. */
  val headTimeout: Duration = values(HeadTimeout)

  /** Minimum average rate of a body in every 10 seconds. */
  val minBytesPerSecond: Long = values(MinBytesPerSecond)

  val keepMalformed: Boolean = values(Malformed) == "keep"

  /** Accepted content types. */
  val contentTypes: Seq[String] = BodyFormat.contentTypes(kind)

  /** None: the type is not supported. */
  def bodyFormat(contentType: Option[String], charset: Option[Charset]): Option[BodyFormat] =
    BodyFormat.of(contentType, kind, values.get(Bodies), charset)

  /** Names of the headers that the column `headers` contains. */
  val headers: Seq[String] = values.get(Headers).getOrElse(Nil)

  /** Whether to take the client's address from `X-Forwarded-For`. */
  val trustForwarded: Boolean = values(TrustForwarded)

  /** Whether `/health` and `/metrics` need no credentials on an address other than loopback. */
  val openStatus: Boolean = values(OpenStatus)

  /** Whether the listener may bind an address that other machines can reach. */
  def isProtected: Boolean = admission.nonEmpty || tls.nonEmpty
}
