package io.epochal.ingest.http.auth

import java.nio.charset.StandardCharsets.{ISO_8859_1, US_ASCII}
import java.security.MessageDigest
import java.time.{Clock, Duration}
import java.util.concurrent.TimeUnit.SECONDS
import java.util.{Base64, HexFormat}
import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec

import scala.annotation.tailrec
import scala.util.{Try, Using}

import com.fasterxml.jackson.core.JsonToken
import org.slf4j.LoggerFactory

import io.epochal.ingest.http.body.Problem
import io.epochal.kit.access.Secret
import io.epochal.kit.json.Json

/** Authorizes requests with records; by default all. Only a refusal's reason, which is not sent, says which check failed.
  * Thread-safe.
  */
private[http] trait Admission {

  /** Checks the head, before the body is read.
    *
    * @param header
    *   the value of a header; None if it is missing or repeated
    * @return
    *   None: not refused so far
    */
  def head(header: String => Option[String]): Option[Problem] = None

  /** Checks the body as transferred, before decompression.
    *
    * @param length
    *   of the body, which begins at index 0
    */
  def body(header: String => Option[String], bytes: Array[Byte], length: Int): Option[Problem] = None

  /** Whether a request without a body can be authenticated. */
  def provesWithoutBody: Boolean = true
}

/** Basic (RFC 7617) or bearer (RFC 6750) authorization. Compares with every valid credential, each in constant time.
  *
  * @param credentials
  *   the valid credentials
  */
final private[http] class AuthorizationAdmission(challenge: String, credentials: CurrentSecrets) extends Admission {

  override def head(header: String => Option[String]): Option[Problem] = {
    val authorization = header("Authorization")
    val isValid = authorization.map(_.trim).exists { value =>
      val (scheme, credential) = value.span(_ != ' ')
      val bytes = credential.trim.getBytes(ISO_8859_1)
      scheme.equalsIgnoreCase(challenge.takeWhile(_ != ' ')) &&
      credentials.read().map(MessageDigest.isEqual(_, bytes)).foldLeft(false)(_ || _)
    }
    val reason = if (authorization.isEmpty) "no_credential" else "wrong_credential"
    Option.when(!isValid)(Problem(401, reason, "unauthorized", headers = Seq("WWW-Authenticate" -> challenge)))
  }
}

/** Admits webhooks that are signed with a shared secret. */
final private[http] class SignatureAdmission(kind: WebhookSignature, secrets: CurrentSecrets) extends Admission {

  override def head(header: String => Option[String]): Option[Problem] =
    refusal("no_signature")(kind.of(header).nonEmpty)

  override def body(header: String => Option[String], bytes: Array[Byte], length: Int): Option[Problem] =
    refusal("wrong_signature")(kind.of(header).exists { claim =>
      secrets.read().foldLeft(false) { (found, secret) =>
        val digest = hmac(secret, claim.prefix, bytes, length)
        claim.signatures.foldLeft(found)((before, signature) => MessageDigest.isEqual(digest, signature) || before)
      }
    })

  override def provesWithoutBody: Boolean = false

  private def refusal(reason: String)(isValid: Boolean) = Option.when(!isValid)(Problem(403, reason, "forbidden"))

  private def hmac(secret: Array[Byte], prefix: Array[Byte], bytes: Array[Byte], length: Int): Array[Byte] = {
    val mac = Mac.getInstance(kind.algorithm)
    mac.init(new SecretKeySpec(secret, kind.algorithm))
    mac.update(prefix)
    mac.update(bytes, 0, length)
    mac.doFinal()
  }
}

/** The valid secrets: the current one and, during a rotation, the previous one. They are reread after a few seconds, so a changed
  * file takes effect without a restart. `toString` does not contain them.
  *
  * @param secrets
  *   the current one first
  * @param sign
  *   converts a secret to the bytes that are compared
  */
final private[http] class CurrentSecrets(
    secrets: Seq[Secret],
    sign: String => Array[Byte],
    nanoTime: () => Long = () => System.nanoTime()) {

  private val log = LoggerFactory.getLogger(getClass)
  private val RefreshNanos = SECONDS.toNanos(5)

  @volatile private var problems = Seq.empty[String]
  @volatile private var last = (nanoTime(), readNow())

  /** Empty if the current secret cannot be read: then every request is refused. */
  def read(): Seq[Array[Byte]] = {
    val now = nanoTime()
    if (now - last._1 > RefreshNanos) last = (now, readNow())
    last._2
  }

  private def readNow(): Seq[Array[Byte]] = {
    val texts = secrets.map(_.readable)
    val effect = if (texts.head.isLeft) "Every request is refused" else "The previous secret is not accepted"
    val unreadable = texts.flatMap(_.left.toSeq.map(_.problem))
    unreadable.diff(problems).foreach(problem => log.warn(s"$effect until this is fixed: $problem"))
    problems = unreadable
    if (texts.head.isLeft) Nil else texts.flatMap(_.toSeq).map(sign)
  }
}

/** Signature scheme of a webhook sender: which bytes of a request are signed, and where the signature is. */
sealed private[http] trait WebhookSignature {

  /** Algorithm name for `javax.crypto.Mac`. */
  def algorithm: String = "HmacSHA256"

  /** @return
    *   None: the signature is missing, malformed or outdated
    */
  def of(header: String => Option[String]): Option[SignatureClaim]
}

/** Signature of a request.
  *
  * @param prefix
  *   bytes that are signed before the body
  * @param signatures
  *   at least one must be valid
  */
final private[http] case class SignatureClaim(prefix: Array[Byte], signatures: Seq[Array[Byte]])

private[http] object WebhookSignature {

  /** `Stripe-Signature: t=<seconds>,v1=<hex>`, of the time, a dot and the body; `v1` may be repeated. */
  final case class Stripe(tolerance: Duration, clock: Clock) extends WebhookSignature {
    override def of(header: String => Option[String]): Option[SignatureClaim] =
      header("Stripe-Signature").flatMap { value =>
        val parts = value.split(',').toSeq.map(_.trim).take(MaxParts).collect { case s"$name=$text" => name -> text }
        for {
          time <- parts.collectFirst { case ("t", text) => text }
          if isCurrent(time, tolerance, clock)
          signatures = parts.collect { case ("v1", text) => text }.flatMap(unhex(_))
          if signatures.nonEmpty
        } yield SignatureClaim(s"$time.".getBytes(US_ASCII), signatures)
      }
  }

  /** `X-Slack-Signature: v0=<hex>`, of `v0:`, the time in `X-Slack-Request-Timestamp`, a colon and the body. */
  final case class Slack(tolerance: Duration, clock: Clock) extends WebhookSignature {
    override def of(header: String => Option[String]): Option[SignatureClaim] =
      for {
        time <- header("X-Slack-Request-Timestamp")
        if isCurrent(time, tolerance, clock)
        signature <- header("X-Slack-Signature").collect { case s"v0=$text" => text }.flatMap(unhex)
      } yield SignatureClaim(s"v0:$time:".getBytes(US_ASCII), Seq(signature))
  }

  /** A configurable header with a signature of the body. No timestamp is signed, so an intercepted request can be replayed. */
  final case class Header(name: String, prefix: String, override val algorithm: String, encoding: String)
      extends WebhookSignature {
    override def of(header: String => Option[String]): Option[SignatureClaim] =
      header(name)
        .filter(_.startsWith(prefix))
        .map(_.substring(prefix.length))
        .flatMap(text => if (encoding == Hex) unhex(text) else Try(Base64.getDecoder.decode(text)).toOption)
        .map(signature => SignatureClaim(Array.emptyByteArray, Seq(signature)))
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
private[ingest] object DeliveryId {

  /** Finds the id of a request, given its headers and its only record; None instead of the record if it has several. */
  type Finder = (String => Option[String], Option[Array[Byte]]) => Option[String]

  def inHeader(name: String): Finder = (header, _) => header(name)

  /** In a top-level field of the record, a JSON object. */
  def inField(name: String): Finder = (_, record) => record.flatMap(bytes => Try(text(name, bytes)).toOption.flatten)

  private def text(name: String, record: Array[Byte]): Option[String] =
    Using.resource(Json.factory.createParser(record)) { parser =>
      @tailrec def value: String = parser.nextFieldName() match {
        case null   => null
        case `name` => parser.nextTextValue()
        case _ =>
          parser.nextToken(): Unit
          parser.skipChildren(): Unit
          value
      }
      Option.when(parser.nextToken() == JsonToken.START_OBJECT)(value).filter(_ != null)
    }
}
