package io.epochal.ingest.http

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Locale

import scala.jdk.CollectionConverters._

import org.eclipse.jetty.http.HttpHeader
import org.eclipse.jetty.server.Request

import io.epochal.ingest.http.body.{BodyFormat, JsonObject, Refusal, Refused}
import io.epochal.ingest.intake.Listener

/** Head of a request with records.
  *
  * @param stream
  *   empty if the path names none
  */
final private[http] class Inbound private (
    val stream: String,
    val format: BodyFormat,
    val isGzip: Boolean,
    idempotencyKey: Option[String],
    request: Request,
    settings: HttpSettings) {

  /** Value of a header; None if it is missing or repeated. */
  def header(name: String): Option[String] = Inbound.header(request, name)

  /** The client's address and port. */
  def remote: String =
    forwarded.getOrElse(Listener.shown(request.getConnectionMetaData.getRemoteSocketAddress))

  /** JSON for the column `headers`; null if the request has none of the configured headers. */
  def headersJson: String = {
    val found = settings.headers.flatMap { name =>
      val values = request.getHeaders.getValuesList(name).asScala
      Option.when(values.nonEmpty)(name -> values.mkString(", "))
    }
    def json = JsonObject.of(out => found.foreach { case (name, value) => out.writeStringField(name, value) })
    if (found.isEmpty) null else new String(json, UTF_8)
  }

  /** Idempotency key, including the stream: the client's `Idempotency-Key`, else the webhook's delivery id.
    *
    * @param record
    *   the only record of the request; None if there are several
    */
  def key(record: Option[Array[Byte]]): Option[String] =
    idempotencyKey
      .orElse(delivery.flatMap(_.of(header, record)).filter(Inbound.isKey))
      .map(key => s"$stream/$key")

  /** Whether the request has an idempotency key, so the journal may have stored it before. */
  def mayBeKnown: Boolean = idempotencyKey.isDefined || delivery.isDefined

  private def delivery = settings.admission.flatMap(_.delivery)

  /** The client address reported by the nearest proxy. */
  private def forwarded: Option[String] =
    if (!settings.trustForwarded) None
    else
      request.getHeaders
        .getValuesList("X-Forwarded-For")
        .asScala
        .lastOption
        .map(_.split(',').last.trim)
        .filter(text => text.nonEmpty && text.length <= Inbound.MaxAddress && text.forall(c => c > ' ' && c < 127))
}

private[http] object Inbound {

  /** @throws Refused
    *   before the body is read
    */
  def of(stream: String, request: Request, settings: HttpSettings): Inbound = {
    val format = BodyFormat.of(header(request, "Content-Type")).getOrElse {
      val subject = if (request.getHeaders.contains("Content-Type")) "Content-Type" else "no Content-Type was sent: it"
      throw new Refused(unreadable(s"$subject is one of ${BodyFormat.Accepted.mkString(", ")}, in UTF-8"))
    }
    val isGzip = header(request, "Content-Encoding").map(_.trim.toLowerCase(Locale.ROOT)) match {
      case None | Some("identity")       => false
      case Some("gzip") | Some("x-gzip") => true
      case _                             => throw new Refused(unreadable("Content-Encoding is gzip, or none"))
    }
    val limit = settings.limits.maxRequestBytes
    if (request.getLength > limit) throw new Refused(Refusal.tooLarge(s"the body is larger than $limit bytes"))
    new Inbound(stream, format, isGzip, idempotencyKey(request), request, settings)
  }

  def header(request: Request, name: String): Option[String] = {
    val values = request.getHeaders.getValuesList(name)
    Option.when(values.size == 1)(values.get(0))
  }

  private def idempotencyKey(request: Request): Option[String] =
    Option.when(request.getHeaders.contains(Key)) {
      header(request, Key)
        .filter(isKey)
        .getOrElse(
          throw new Refused(Refusal(400, "bad_key", s"$Key is one header of 1 to $MaxKey printable ASCII characters")))
    }

  private def isKey(text: String): Boolean =
    text.nonEmpty && text.length <= MaxKey && text.forall(c => c > ' ' && c < 127)

  private def unreadable(error: String) = Refusal(
    415,
    "media_type",
    error,
    headers = Seq(HttpHeader.ACCEPT.asString -> BodyFormat.Accepted.mkString(", "), "Accept-Encoding" -> "gzip"))

  private val Key = "Idempotency-Key"
  private val MaxKey = 255
  private val MaxAddress = 64
}
