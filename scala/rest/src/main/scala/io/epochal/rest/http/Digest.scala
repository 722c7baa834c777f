package io.epochal.rest.http

import java.net.URI
import java.nio.charset.StandardCharsets.UTF_8
import java.security.{MessageDigest, SecureRandom}
import java.time.Duration
import java.util.{HexFormat, Locale}

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.hc.client5.http.auth.{AuthChallenge, ChallengeType}
import org.apache.hc.client5.http.impl.auth.AuthChallengeParser
import org.apache.hc.core5.http.message.ParserCursor

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.option.{OptionType, OptionValues}
import io.epochal.kit.access.Secret

/** RFC 7616: `Authorization: Digest`, by SHA-256 or MD5. The first request is answered by 401, with a nonce that later
  * requests use until the server sends another one.
  */
object Digest extends AuthScheme {

  val User = option("digest.user", OptionType.string, secret = true)("User name for digest authentication.")
  val Password = secret("digest.password", "Password for digest authentication")

  override def read(values: OptionValues, endpoint: Endpoint): Either[EpochalException, Option[AuthSettings]] =
    select(values, User)(requireOption(values, User, Password).map(DigestSettings(Secret.Given(values(User)), _)))

  /** How long unused nonces are kept. */
  private val Kept = Duration.ofHours(1)

  private[http] val nonces = new SharedValues[DigestNonces](1024, _ => Kept)
}

/** User and password for the answers to challenges. Prints without them. */
final private[http] case class DigestSettings(user: Secret, password: Secret) extends AuthSettings {
  override def option: String = Digest.User.name
  override def secrets: Seq[Secret] = Seq(user, password)
  override def isAuthorization: Boolean = true
  override def open(http: HttpSettings, counters: HttpCounters): Credential =
    new DigestCredential(
      this,
      Digest.nonces.open(Seq(http.endpoint.base.toString, user.read()).map(Some(_)))(new DigestNonces))
  override def toString: String = s"Digest(${Redaction.Mask})"
}

/** The last challenge of one server, for all tasks of a JVM. Thread-safe. */
final private[http] class DigestNonces {
  private var last = Option.empty[DigestChallenge]
  private var count = 0

  /** The challenge, and how many requests have used its nonce, including this one. */
  def next(): Option[(DigestChallenge, Int)] = synchronized {
    count += 1
    last.map(_ -> count)
  }

  def onChallenge(challenge: DigestChallenge): Unit = synchronized {
    if (!last.contains(challenge)) {
      last = Some(challenge)
      count = 0
    }
  }
}

final private class DigestCredential(settings: DigestSettings, nonces: Lease[DigestNonces]) extends Credential {

  override def signature(
      call: HttpCall,
      base: URI,
      target: String,
      headers: => Seq[(String, String)]): Seq[(String, String)] =
    nonces.value.next().toSeq.map { case (challenge, count) =>
      val client = HexFormat.of.formatHex(DigestCredential.random(16))
      val (user, password) = (settings.user.read(), settings.password.read())
      "Authorization" -> challenge.answer(user, password, call.method, target, count, client)
    }

  /** Whether there is a challenge to answer: the server may have taken an old nonce (`stale`) or none. The request is
    * repeated once, so that a wrong password fails.
    */
  override def onRejection(headers: Seq[(String, String)], challenges: Seq[String]): Boolean = {
    val best = DigestChallenge.of(challenges)
    best.foreach(nonces.value.onChallenge)
    best.nonEmpty
  }

  override def close(): Unit = nonces.close()
}

private object DigestCredential {
  private val source = new SecureRandom

  private def random(size: Int): Array[Byte] = {
    val bytes = new Array[Byte](size)
    source.nextBytes(bytes)
    bytes
  }
}

/** A challenge of the scheme Digest.
  *
  * @param algorithm
  *   as the server names it; None: MD5
  * @param session
  *   whether the key is made with the nonce (`-sess`)
  * @param protects
  *   whether requests are counted (`qop=auth`); not in RFC 2069
  */
final private[http] case class DigestChallenge(
    realm: String,
    nonce: String,
    opaque: Option[String],
    algorithm: Option[String],
    hash: String,
    session: Boolean,
    protects: Boolean) {

  /** The value of the header `Authorization`.
    *
    * @param count
    *   how many requests have used the nonce, with this one
    * @param client
    *   a random text
    */
  def answer(user: String, password: String, method: String, target: String, count: Int, client: String): String = {
    def digest(parts: String*) =
      HexFormat.of.formatHex(MessageDigest.getInstance(hash).digest(parts.mkString(":").getBytes(UTF_8)))
    val plain = digest(user, realm, password)
    val key = if (session) digest(plain, nonce, client) else plain
    val number = HexFormat.of.toHexDigits(count)
    val request = digest(method, target)
    val response =
      if (protects) digest(key, nonce, number, client, "auth", request) else digest(key, nonce, request)
    def quote(text: String) = "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\""
    val fields = Seq(
      "username" -> quote(user),
      "realm" -> quote(realm),
      "nonce" -> quote(nonce),
      "uri" -> quote(target),
      "response" -> quote(response)) ++
      algorithm.map("algorithm" -> _) ++ opaque.map(text => "opaque" -> quote(text)) ++
      (if (protects) Seq("qop" -> "auth", "nc" -> number, "cnonce" -> quote(client)) else Nil)
    fields.map { case (name, value) => s"$name=$value" }.mkString("Digest ", ", ", "")
  }
}

private[http] object DigestChallenge {

  /** Algorithms, the strongest first. */
  private val Hashes = Seq("SHA-256", "MD5")

  /** The strongest challenge that can be answered.
    *
    * @param headers
    *   `WWW-Authenticate`
    */
  def of(headers: Seq[String]): Option[DigestChallenge] = headers
    .flatMap(text => Try(parser.parse(ChallengeType.TARGET, text, new ParserCursor(0, text.length))).toOption)
    .flatMap(_.asScala)
    .filter(_.getSchemeName.equalsIgnoreCase("Digest"))
    .flatMap(read)
    .sortBy(one => Hashes.indexOf(one.hash))
    .headOption

  private val parser = AuthChallengeParser.INSTANCE

  private def read(challenge: AuthChallenge): Option[DigestChallenge] = {
    val params = Option(challenge.getParams)
      .fold(Seq.empty[(String, String)])(
        _.asScala.map(one => one.getName.toLowerCase(Locale.ROOT) -> one.getValue).toSeq)
      .toMap
    val algorithm = params.get("algorithm")
    val name = algorithm.getOrElse("MD5").toUpperCase(Locale.ROOT)
    val qop = params.get("qop").map(_.split(',').map(_.trim.toLowerCase(Locale.ROOT)).toSeq)
    for {
      realm <- params.get("realm")
      nonce <- params.get("nonce")
      hash <- Hashes.find(_ == name.stripSuffix("-SESS"))
      if qop.forall(_.contains("auth"))
    } yield DigestChallenge(realm, nonce, params.get("opaque"), algorithm, hash, name.endsWith("-SESS"), qop.nonEmpty)
  }
}
