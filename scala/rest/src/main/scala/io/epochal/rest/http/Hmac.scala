package io.epochal.rest.http

import java.io.ByteArrayOutputStream
import java.net.URI
import java.nio.charset.StandardCharsets.UTF_8
import java.time.Clock
import java.util.{Base64, HexFormat}
import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.option.{OptionType, OptionValues}
import io.epochal.kit.access.Secret

/** A keyed hash (RFC 2104) of the request, in a header. */
object Hmac extends AuthScheme {

  val Key = secret("hmac.secret", "Key of an HMAC that signs every request, in addition to any other authentication")
  val Header = option("hmac.header", OptionType.string, Some("X-Signature"))("Header for the HMAC.")
  val Prefix = option("hmac.prefix", OptionType.string, sample = Some("sha256="))("Text before the HMAC in its header.")
  val Algorithm = option("hmac.algorithm", OptionType.oneOf("sha256", "sha512"), Some("sha256"))("Hash of the HMAC.")
  val Encoding = option("hmac.encoding", OptionType.oneOf("hex", "base64"), Some("hex"))("How the HMAC is written.")
  val Text = option("hmac.text", OptionType.string, Some("${timestamp}${method}${path}${body}"))(
    "What is signed, with ${method}, ${path} (with the query), ${body}, and ${timestamp} (Unix time in seconds) or ${timestampMillis}.")
  val TimestampHeader = option("hmac.timestampHeader", OptionType.string, Some("X-Timestamp"))(
    "Header for the time that is signed, if it is.")

  private[http] val Place = """\$\{(\w*)}""".r
  private val Places = Set("timestamp", "timestampMillis", "method", "path", "body")

  override def read(values: OptionValues, endpoint: Endpoint): Either[EpochalException, Option[AuthSettings]] =
    select(values, Key.text, Key.isSet(values)) {
      val text = values(Text)
      val names = Place.findAllMatchIn(text).map(_.group(1)).toSeq
      for {
        key <- requireOption(values, Key.text, Key)
        _ <- names
          .find(!Places(_))
          .map(name => values.group.invalid(Text, s"$${$name}", s"one of ${Places.toSeq.sorted.mkString(", ")}"))
          .toLeft(())
        headers = Seq(Header, TimestampHeader).map(spec => spec -> values(spec))
        _ <- headers
          .flatMap { case (spec, name) => HttpHeaders.name(values.group.format, spec.name, name).left.toOption }
          .headOption
          .toLeft(())
        _ <- HttpHeaders.value(values.group.format, Prefix.name, values.get(Prefix).getOrElse(""))
        twice = headers.find { case (_, name) =>
          values.family(RequestOptions.Headers).keys.exists(_.equalsIgnoreCase(name))
        }
        _ <- values.consistent(twice.isEmpty)(
          twice.fold("") { case (spec, name) => s"{option:${spec.name}}, headers.$name" },
          "Keep one of them.")
      } yield HmacSettings(
        Key.setName(values),
        key,
        values(Header),
        values.get(Prefix).getOrElse(""),
        values(Algorithm),
        values(Encoding),
        text,
        Option.when(names.exists(_.startsWith("timestamp")))(values(TimestampHeader)))
    }

  private[http] def of(algorithm: String, key: Array[Byte], text: Array[Byte]): Array[Byte] = {
    val name = s"Hmac$algorithm"
    val mac = Mac.getInstance(name)
    mac.init(new SecretKeySpec(key, name))
    mac.doFinal(text)
  }

  private[http] def sha256(key: Array[Byte], text: String): Array[Byte] = of("SHA256", key, text.getBytes(UTF_8))
}

/** The key for an HMAC of each request, and its form. Prints without the key.
  *
  * @param timestampHeader
  *   None: no time is signed
  */
final private[http] case class HmacSettings(
    option: String,
    key: Secret,
    header: String,
    prefix: String,
    algorithm: String,
    encoding: String,
    text: String,
    timestampHeader: Option[String])
    extends AuthSettings {
  override def secrets: Seq[Secret] = Seq(key)
  override def open(http: HttpSettings, counters: HttpCounters): Credential = new HmacSigner(this, Clock.systemUTC())
  override def toString: String = s"Hmac(${Redaction.Mask})"
}

final private[http] class HmacSigner(settings: HmacSettings, clock: Clock) extends Credential {
  import settings._

  override def signature(
      call: HttpCall,
      base: URI,
      target: String,
      headers: => Seq[(String, String)]): Seq[(String, String)] = {
    val millis = clock.millis
    val time = if (text.contains("${timestampMillis}")) millis.toString else (millis / 1000).toString
    val message = new ByteArrayOutputStream
    var at = 0
    def add(text: String): Unit = message.writeBytes(text.getBytes(UTF_8))
    Hmac.Place.findAllMatchIn(text).foreach { place =>
      add(text.substring(at, place.start))
      at = place.end
      place.group(1) match {
        case "method" => add(call.method)
        case "path"   => add(target)
        case "body"   => call.body.foreach(body => message.writeBytes(body.bytes))
        case _        => add(time)
      }
    }
    add(text.substring(at))
    val hash = Hmac.of(algorithm, key.read().getBytes(UTF_8), message.toByteArray)
    val hashText = if (encoding == "hex") HexFormat.of.formatHex(hash) else Base64.getEncoder.encodeToString(hash)
    timestampHeader.map(_ -> time).toSeq :+ (header -> s"$prefix$hashText")
  }
}
