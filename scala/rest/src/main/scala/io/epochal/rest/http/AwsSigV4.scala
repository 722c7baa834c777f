package io.epochal.rest.http

import java.net.{URI, URLDecoder}
import java.nio.charset.StandardCharsets.UTF_8
import java.time.format.DateTimeFormatter
import java.time.{Clock, Instant, ZoneOffset}
import java.util.{HexFormat, Locale}

import scala.util.Try

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.hash.Sha256
import io.epochal.core.option.{OptionType, OptionValues}
import io.epochal.kit.access.Secret

/** AWS Signature Version 4, in the header `Authorization`. */
object AwsSigV4 extends AuthScheme {

  val AccessKey = option("aws.accessKeyId", OptionType.string, secret = true)(
    "AWS access key id: every request is signed by Signature Version 4.")
  val SecretKey = secret("aws.secretAccessKey", "AWS secret access key")
  val SessionToken = secret("aws.sessionToken", "AWS session token, of temporary credentials")
  val Region = option("aws.region", OptionType.string, sample = Some("eu-central-1"))("AWS region of the API.")
  val Service = option("aws.service", OptionType.string, sample = Some("execute-api"))(
    "AWS service of the API: execute-api, s3, es, lambda.")

  override def read(values: OptionValues, endpoint: Endpoint): Either[EpochalException, Option[AuthSettings]] =
    select(values, AccessKey) {
      for {
        secret <- requireOption(values, AccessKey, SecretKey)
        token <- SessionToken.of(values)
        _ <- token.fold[Either[EpochalException, Any]](Right(()))(
          AuthScheme.sendable(values.group.format, SessionToken.setName(values), _))
        region <- requireOption(values, AccessKey, Region)
        service <- requireOption(values, AccessKey, Service)
      } yield AwsSettings(Secret.Given(values(AccessKey)), secret, token, region, service)
    }

  private[http] val Date: DateTimeFormatter =
    DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'", Locale.ROOT).withZone(ZoneOffset.UTC)

  private val Hex = HexFormat.of.withUpperCase
  private val Algorithm = "AWS4-HMAC-SHA256"

  /** The value of the header `Authorization`.
    *
    * @param path
    *   as in the request
    * @param query
    *   as in the request; empty without one
    * @param headers
    *   those that are signed
    * @param body
    *   the SHA-256 of the body
    */
  private[http] def authorization(
      settings: AwsSettings,
      at: Instant,
      method: String,
      path: String,
      query: String,
      headers: Seq[(String, String)],
      body: String): String = {
    val canonical = headers
      .groupMap { case (name, _) => name.toLowerCase(Locale.ROOT) } { case (_, value) =>
        value.trim.replaceAll(" +", " ")
      }
      .toSeq
      .sortBy(_._1)
    val names = canonical.map(_._1).mkString(";")
    val lines = canonical.map { case (name, values) => s"$name:${values.mkString(",")}\n" }.mkString
    val request = Seq(method, pathOf(settings.service, path), queryOf(query), lines, names, body).mkString("\n")
    val time = Date.format(at)
    val scope = Seq(time.take(8), settings.region, settings.service, "aws4_request")
    val text = Seq(Algorithm, time, scope.mkString("/"), Sha256.hex(request, 32)).mkString("\n")
    val key = scope.foldLeft(s"AWS4${settings.secretKey.read()}".getBytes(UTF_8))(Hmac.sha256)
    val signature = HexFormat.of.formatHex(Hmac.sha256(key, text))
    val credential = s"${settings.accessKey.read()}/${scope.mkString("/")}"
    s"$Algorithm Credential=$credential, SignedHeaders=$names, Signature=$signature"
  }

  /** The canonical path: S3 takes a path as it is, every other service without dot segments and encoded once more. */
  private def pathOf(service: String, path: String): String =
    if (service == "s3") encode(decode(path.replace("+", "%2B")), "/")
    else {
      val segments = path.split('/').foldLeft(List.empty[String]) {
        case (before, "" | ".") => before
        case (before, "..")     => before.drop(1)
        case (before, segment)  => segment :: before
      }
      val end = if (segments.nonEmpty && path.matches(".*/\\.{0,2}")) "/" else ""
      encode(segments.reverse.mkString("/", "/", end), "/")
    }

  private def queryOf(query: String): String = query
    .split('&')
    .filter(_.nonEmpty)
    .map(pair => (pair.takeWhile(_ != '='), pair.dropWhile(_ != '=').drop(1)))
    .map { case (name, value) => (encode(decode(name)), encode(decode(value))) }
    .sorted
    .map { case (name, value) => s"$name=$value" }
    .mkString("&")

  private def decode(text: String): String = Try(URLDecoder.decode(text, UTF_8)).getOrElse(text)

  /** Percent-encoding of all but unreserved characters (RFC 3986) and these. */
  private def encode(text: String, literals: String = ""): String = text
    .getBytes(UTF_8)
    .map { byte =>
      val char = (byte & 0xff).toChar
      val stays =
        char < 128 && (char.isLetterOrDigit || "-._~".indexOf(char.toInt) >= 0 || literals.indexOf(char.toInt) >= 0)
      if (stays) char.toString else s"%${Hex.toHexDigits(byte)}"
    }
    .mkString
}

/** The keys for signatures of requests to AWS. Prints without them. */
final private[http] case class AwsSettings(
    accessKey: Secret,
    secretKey: Secret,
    token: Option[Secret],
    region: String,
    service: String)
    extends AuthSettings {
  override def option: String = AwsSigV4.AccessKey.name
  override def secrets: Seq[Secret] = Seq(accessKey, secretKey) ++ token
  override def isAuthorization: Boolean = true
  override def open(http: HttpSettings, counters: HttpCounters): Credential = new AwsSigner(this, Clock.systemUTC())
  override def toString: String = s"AwsSigV4(${Redaction.Mask})"
}

/** Signs the host, the body and all headers `X-Amz-*`. */
final private[http] class AwsSigner(settings: AwsSettings, clock: Clock) extends Credential {

  override def signature(
      call: HttpCall,
      base: URI,
      target: String,
      headers: => Seq[(String, String)]): Seq[(String, String)] = {
    val now = clock.instant()
    val body = Sha256.hex(call.body.fold(Array.emptyByteArray)(_.bytes), 32)
    val ours = Seq("X-Amz-Date" -> AwsSigV4.Date.format(now), "X-Amz-Content-Sha256" -> body) ++
      settings.token.map("X-Amz-Security-Token" -> _.read())
    val own = headers.filter { case (name, _) =>
      name.toLowerCase(Locale.ROOT).startsWith("x-amz-") && !ours.exists(_._1.equalsIgnoreCase(name))
    }
    val signedHeaders = ("Host" -> base.getRawAuthority) +: (own ++ ours)
    val (path, query) = (target.takeWhile(_ != '?'), target.dropWhile(_ != '?').drop(1))
    ours :+ "Authorization" -> AwsSigV4.authorization(settings, now, call.method, path, query, signedHeaders, body)
  }
}
