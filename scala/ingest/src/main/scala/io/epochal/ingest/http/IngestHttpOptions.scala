package io.epochal.ingest.http

import java.time.Duration
import java.util.Locale

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionList, OptionSpec, OptionType, OptionValues}
import io.epochal.ingest.http.auth.AdmissionOptions

private[ingest] object IngestHttpOptions extends OptionList {

  val MaxRequestBytes = option("maxRequestBytes", OptionType.bytes, Some(8L << 20))(
    "Maximum request body, compressed and decompressed; up to 1g.")
  val MaxRecordBytes = option("maxRecordBytes", OptionType.bytes, Some(1L << 20))("Maximum record size.")
  val MaxRecordsPerRequest =
    option("maxRecordsPerRequest", OptionType.int(1), Some(100000))("Maximum records per request.")
  val MaxBufferedBytes = option("maxBufferedBytes", OptionType.bytes, Some(64L << 20))(
    "Memory for the bodies of concurrent requests; beyond it requests get status 503.")
  val MaxHeaderBytes =
    option("maxHeaderBytes", OptionType.bytes, Some(16L << 10))("Maximum size of request line and headers; up to 1m.")
  val HeadTimeout = option("headTimeout", OptionType.duration, Some(Duration.ofSeconds(15)))(
    "Time to send a request's line and headers, before the connection is closed.")
  val MinBytesPerSecond = option("minBytesPerSecond", OptionType.bytes, Some(1L << 10))(
    "Minimum average rate of a body in every 10 seconds; slower clients are disconnected.")
  val Malformed = option("malformed", OptionType.oneOf("refuse", "keep"), Some("refuse"))(
    "For a body that does not match its Content-Type: respond with 400 and store nothing, or keep it as one record (of NDJSON, the faulty lines).")
  val Bodies = option("bodyFormat", OptionType.oneOf("lines", "ndjson", "json", "form"))(
    "How bodies are split into records, whatever their Content-Type. Unset: by Content-Type; if records are parsed as JSON, a text that is one JSON document is json.")
  val Headers = option("headers", OptionType.names, sample = Some("User-Agent,X-GitHub-Event"))(
    "Request headers to keep in the column headers; ones with credentials or signatures are refused.")
  val TrustForwarded = option("trustForwarded", OptionType.boolean, Some(false))(
    "Whether the last X-Forwarded-For address is the client's. Only behind a proxy: any client can set the header.")
  val OpenStatus = option("openStatus", OptionType.boolean, Some(false))(
    "Whether GET /health and GET /metrics need no credentials, as on loopback.")

  /** The options that protect a listener. */
  val Protection: String =
    "{option:bearerToken}, {option:user} and {option:password}, or {option:signature} (with {option:tls.certFile} alone, everybody who reaches it may write)"

  override def all: Seq[OptionSpec[_]] = super.all ++ AdmissionOptions.all ++ ListenerTlsOptions.all

  /** Reads the settings, given the options common to all listeners.
    *
    * @param kind
    *   how records are parsed: text, json or csv
    */
  def read(
      values: OptionValues,
      maxConnections: Int,
      idleTimeout: Duration,
      kind: String = "text"): Either[EpochalException, ListenerSettings] =
    for {
      _ <- values.consistent(kind != "csv" || values.get(Bodies).forall(_ == "lines"))(
        values.get(Bodies).fold("")(name => s"{option:bodyFormat=$name}, {option:format=csv}"),
        "Leave {option:bodyFormat} out: a record of CSV is a line.")
      admission <- AdmissionOptions.read(values)
      tls <- ListenerTlsOptions.read(values)
      _ <- atMost(values, MaxRequestBytes, 1L << 30, "1g")
      _ <- atMost(values, MaxHeaderBytes, 1L << 20, "1m")
      _ <- harmless(values)
    } yield new ListenerSettings(values, maxConnections, idleTimeout, admission, tls, kind)

  /** Refuses a size above a maximum. */
  private[ingest] def atMost(
      values: OptionValues,
      spec: OptionSpec[Long],
      most: Long,
      text: String): Either[EpochalException, Unit] =
    Either.cond(values(spec) <= most, (), values.group.invalid(spec, s"${values(spec)}", s"at most $text"))

  /** Refuses headers with credentials: rows must not contain any. */
  private def harmless(values: OptionValues): Either[EpochalException, Unit] = {
    val signature = values.get(AdmissionOptions.SignatureHeader).toSeq
    val secret = (Credentials ++ signature).map(_.toLowerCase(Locale.ROOT)).toSet
    values
      .get(Headers)
      .flatMap(_.find(name => secret(name.toLowerCase(Locale.ROOT))))
      .map(name => values.group.invalid(Headers, name, "a header without credentials or a signature"))
      .toLeft(())
  }

  private val Credentials = Seq("Authorization", "Proxy-Authorization", "Cookie") ++
    Seq("X-Hub-Signature", "X-Hub-Signature-256", "Stripe-Signature", "X-Slack-Signature")
}
