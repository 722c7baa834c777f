package io.epochal.ingest.http.auth

import java.nio.charset.StandardCharsets.{US_ASCII, UTF_8}
import java.time.{Clock, Duration}
import java.util.{Arrays, Base64, HexFormat}

import scala.util.Try

import io.epochal.kit.json.JsonScan

/** Signature scheme of a webhook sender: which bytes of a request are signed, and where the signature is. */
sealed private[http] trait WebhookSignature {

  /** Algorithm name for `javax.crypto.Mac`. */
  def algorithm: String = "HmacSHA256"

  /** @return
    *   None: the signature is missing, malformed or outdated
    */
  def of(header: String => Option[String]): Option[Signed]
}

/** Signature of a request.
  *
  * @param prefix
  *   bytes that are signed before the body
  * @param signatures
  *   at least one must be valid
  */
final private[http] case class Signed(prefix: Array[Byte], signatures: Seq[Array[Byte]])

private[http] object WebhookSignature {

  /** `X-Hub-Signature-256: sha256=<hex>`, of the body. */
  case object GitHub extends WebhookSignature {
    override def of(header: String => Option[String]): Option[Signed] =
      header("X-Hub-Signature-256").collect { case s"sha256=$signature" => signature }.flatMap(unhex).map { found =>
        Signed(Array.emptyByteArray, Seq(found))
      }
  }

  /** `Stripe-Signature: t=<seconds>,v1=<hex>`, of the time, a dot and the body; `v1` may be repeated. */
  final case class Stripe(tolerance: Duration, clock: Clock) extends WebhookSignature {
    override def of(header: String => Option[String]): Option[Signed] =
      header("Stripe-Signature").flatMap { value =>
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
    override def of(header: String => Option[String]): Option[Signed] =
      for {
        time <- header("X-Slack-Request-Timestamp")
        if isCurrent(time, tolerance, clock)
        signature <- header("X-Slack-Signature").collect { case s"v0=$text" => text }.flatMap(unhex)
      } yield Signed(s"v0:$time:".getBytes(US_ASCII), Seq(signature))
  }

  /** A configurable header with a signature of the body. No timestamp is signed, so an intercepted request can be replayed. */
  final case class Header(name: String, prefix: String, override val algorithm: String, encoding: String)
      extends WebhookSignature {
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

/** Where a webhook sender puts the delivery id. A redelivery has the same id, so it serves as idempotency key. */
sealed private[ingest] trait DeliveryId {

  /** @param header
    *   the value of a header
    * @param bytes
    *   the only record of the request; None if it has several
    */
  def of(header: String => Option[String], bytes: Option[Array[Byte]]): Option[String]
}

private[ingest] object DeliveryId {

  /** In a header. */
  final case class Header(name: String) extends DeliveryId {
    override def of(header: String => Option[String], bytes: Option[Array[Byte]]): Option[String] = header(name)
  }

  /** In a top-level field of the record, a JSON object. */
  final case class Field(name: String) extends DeliveryId {
    private val expected = name.getBytes(UTF_8)

    override def of(header: String => Option[String], bytes: Option[Array[Byte]]): Option[String] =
      bytes.flatMap(record => text(new JsonScan(record, 0, record.length)))

    /** None: the field is missing or not a plain string. */
    private def text(scan: JsonScan): Option[String] = {
      var sure = scan.next() == '{' && scan.pass() == '"'
      var found = Option.empty[String]
      while (sure && found.isEmpty) {
        val from = scan.at + 1
        sure = scan.string() && !scan.escaped
        val isIt = sure && Arrays.equals(scan.bytes, from, scan.at - 1, expected, 0, expected.length)
        sure &&= scan.next() == ':'
        if (sure) {
          val begin = if (scan.pass() == '"') scan.at + 1 else -1
          sure = scan.value()
          if (sure && isIt && begin >= 0) found = Some(new String(scan.bytes, begin, scan.at - 1 - begin, UTF_8))
          sure &&= !isIt && scan.next() == ',' && scan.pass() == '"'
        }
      }
      found
    }
  }
}
