package io.epochal.ingest.http.auth

import java.nio.charset.StandardCharsets.US_ASCII
import java.time.{Clock, Duration}
import java.util.{Base64, HexFormat}

import scala.util.Try

/** How a sender of webhooks signs: what of a request is signed, and where the signature stands. */
sealed private[http] trait WebhookSignature {

  /** Of `javax.crypto.Mac`. */
  def algorithm: String = "HmacSHA256"

  /** The headers that have signatures. */
  def headers: Seq[String]

  /** @return
    *   None: the request has no signature of this form, or an outdated one
    */
  def of(header: String => Option[String]): Option[Signed]
}

/** @param prefix
  *   what is signed before the body
  * @param signatures
  *   of which one must be right
  */
final private[http] case class Signed(prefix: Array[Byte], signatures: Seq[Array[Byte]])

private[http] object WebhookSignature {

  /** `X-Hub-Signature-256: sha256=<hex>`, of the body. */
  case object GitHub extends WebhookSignature {
    override def headers: Seq[String] = Seq("X-Hub-Signature-256", "X-Hub-Signature")
    override def of(header: String => Option[String]): Option[Signed] =
      header(headers.head).collect { case s"sha256=$signature" => signature }.flatMap(unhex).map { found =>
        Signed(Array.emptyByteArray, Seq(found))
      }
  }

  /** `Stripe-Signature: t=<seconds>,v1=<hex>`, of the time, a dot and the body; `v1` may come several times. */
  final case class Stripe(tolerance: Duration, clock: Clock) extends WebhookSignature {
    override def headers: Seq[String] = Seq("Stripe-Signature")
    override def of(header: String => Option[String]): Option[Signed] =
      header(headers.head).flatMap { value =>
        val parts = value.split(',').toSeq.map(_.trim).take(MaxParts).collect { case s"$name=$text" => name -> text }
        for {
          time <- parts.collectFirst { case ("t", text) => text }
          if isCurrent(time, tolerance, clock)
          signatures = parts.collect { case ("v1", text) => text }.flatMap(unhex(_))
          if signatures.nonEmpty
        } yield Signed(s"$time.".getBytes(US_ASCII), signatures)
      }
  }

  /** `X-Slack-Signature: v0=<hex>`, of `v0:`, the time in `X-Slack-Request-Timestamp`, a colon and the body. */
  final case class Slack(tolerance: Duration, clock: Clock) extends WebhookSignature {
    override def headers: Seq[String] = Seq("X-Slack-Signature")
    override def of(header: String => Option[String]): Option[Signed] =
      for {
        time <- header("X-Slack-Request-Timestamp")
        if isCurrent(time, tolerance, clock)
        signature <- header(headers.head).collect { case s"v0=$text" => text }.flatMap(unhex)
      } yield Signed(s"v0:$time:".getBytes(US_ASCII), Seq(signature))
  }

  /** A header of any name with a signature of the body: no time is signed, so a request that was overheard can be repeated. */
  final case class Header(name: String, prefix: String, override val algorithm: String, encoding: String)
      extends WebhookSignature {
    override def headers: Seq[String] = Seq(name)
    override def of(header: String => Option[String]): Option[Signed] =
      header(name)
        .filter(_.startsWith(prefix))
        .map(_.substring(prefix.length))
        .flatMap(text => if (encoding == Hex) unhex(text) else Try(Base64.getDecoder.decode(text)).toOption)
        .map(found => Signed(Array.emptyByteArray, Seq(found)))
  }

  val Hex = "hex"
  val InBase64 = "base64"

  private def isCurrent(seconds: String, tolerance: Duration, clock: Clock): Boolean =
    seconds.length <= MaxDigits && seconds.forall(c => c >= '0' && c <= '9') && seconds.toLongOption.exists { time =>
      math.abs(clock.instant.getEpochSecond - time) <= tolerance.getSeconds
    }

  private def unhex(text: String): Option[Array[Byte]] = Try(HexFormat.of.parseHex(text)).toOption

  private val MaxParts = 20
  private val MaxDigits = 12
}
