package io.epochal.ingest.http.auth

import java.nio.charset.StandardCharsets.UTF_8
import java.time.{Clock, Duration}
import java.util.Base64

import io.epochal.core.error.{EpochalException, Redaction, Reference}
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}
import io.epochal.kit.access.{Secret, SecretOption, SecretOptionList}

/** Options for authentication: at most one of bearer token, user with password, or webhook signature. */
private[ingest] object AdmissionOptions extends SecretOptionList {

  val Token = secret("bearerToken", "Bearer token required of requests")
  val PreviousToken = secret("previousBearerToken", "Older bearer token that is still accepted")
  val User = option("user", OptionType.string, secret = true)("User name required of requests, with password.")
  val Password = secret("password", "Password of user, in basic authentication")
  val PreviousPassword = secret("previousPassword", "Older password that is still accepted")
  val Signature = option("signature", OptionType.oneOf("github", "stripe", "slack", "header"))(
    "Signature scheme of the webhooks; header is any HMAC of the body in a header.")
  val SignatureSecret = secret("signatureSecret", "Secret that signs the webhooks")
  val PreviousSignatureSecret = secret("previousSignatureSecret", "Older signature secret that is still accepted")
  val SignatureTolerance = option("signatureTolerance", OptionType.duration, Some(Duration.ofMinutes(5)))(
    "Maximum distance of the time that stripe and slack sign from the driver's clock.")
  val SignatureHeader = option("signatureHeader", OptionType.string, sample = Some("X-Signature"))(
    "With signature=header: name of the header.")
  val SignaturePrefix = option("signaturePrefix", OptionType.string, sample = Some("sha256="))(
    "With signature=header: text before the signature.")
  val SignatureAlgorithm =
    option("signatureAlgorithm", OptionType.oneOf("HmacSHA256", "HmacSHA512", "HmacSHA1"), Some("HmacSHA256"))(
      "With signature=header: the HMAC algorithm.")
  val SignatureEncoding = option(
    "signatureEncoding",
    OptionType.oneOf(WebhookSignature.Hex, WebhookSignature.InBase64),
    Some(WebhookSignature.Hex))("With signature=header: the signature's encoding.")

  /** Signature kinds that sign a timestamp. */
  private val Timed = Set("stripe", "slack")

  private val ofHeader = Seq(SignatureHeader, SignaturePrefix, SignatureAlgorithm, SignatureEncoding)

  def read(values: OptionValues): Either[EpochalException, Option[AdmissionSettings]] =
    for {
      tokens <- secrets(values, Token, PreviousToken)
      passwords <- secrets(values, Password, PreviousPassword)
      keys <- secrets(values, SignatureSecret, PreviousSignatureSecret)
      _ <- together(values, User, Password)
      _ <- together(values, Signature, SignatureSecret)
      isHeader = values.get(Signature).contains("header")
      _ <- values.only(ofHeader: _*)(isHeader, "{option:signature=header}")
      _ <- if (isHeader) values.required(SignatureHeader) else Right("")
      _ <- values.only(SignatureTolerance)(values.get(Signature).exists(Timed), "{option:signature=stripe or slack}")
      chosen = Seq(Token.name -> tokens, User.name -> passwords, Signature.name -> keys).collect {
        case (name, content) if content.nonEmpty => name
      }
      _ <- values.consistent(chosen.size <= 1)(
        chosen.map(Reference.option).mkString(", "),
        "A listener admits by one of them: keep one.")
    } yield chosen.headOption.map {
      case Token.name => authorization("Bearer", tokens, identity)
      case User.name =>
        val user = values(User)
        val encode = (password: String) => Base64.getEncoder.encodeToString(s"$user:$password".getBytes(UTF_8))
        authorization("Basic realm=\"epochal\", charset=\"UTF-8\"", passwords, encode)
      case _ => signatureSettings(values, keys)
    }

  private def authorization(challenge: String, secrets: Seq[Secret], encode: String => String): AdmissionSettings =
    new AdmissionSettings(
      None,
      _ => new AuthorizationAdmission(challenge, new CurrentSecrets(secrets, encode(_).getBytes(UTF_8))))

  private def signatureSettings(values: OptionValues, keys: Seq[Secret]): AdmissionSettings = {
    val tolerance = values(SignatureTolerance)
    def by(delivery: Option[DeliveryId.Finder])(kind: Clock => WebhookSignature) = new AdmissionSettings(
      delivery,
      clock => new SignatureAdmission(kind(clock), new CurrentSecrets(keys, _.getBytes(UTF_8))))
    values(Signature) match {
      case "github" =>
        val signature = WebhookSignature.Header("X-Hub-Signature-256", "sha256=", "HmacSHA256", WebhookSignature.Hex)
        by(Some(DeliveryId.inHeader("X-GitHub-Delivery")))(_ => signature)
      case "stripe" => by(Some(DeliveryId.inField("id")))(WebhookSignature.Stripe(tolerance, _))
      case "slack"  => by(Some(DeliveryId.inField("event_id")))(WebhookSignature.Slack(tolerance, _))
      case _ =>
        val prefix = values.get(SignaturePrefix).getOrElse("")
        by(None)(_ =>
          WebhookSignature
            .Header(values(SignatureHeader), prefix, values(SignatureAlgorithm), values(SignatureEncoding)))
    }
  }

  /** The current secret and the previous one. Both are read once here, so an unreadable one fails before the query starts. */
  private def secrets(
      values: OptionValues,
      current: SecretOption,
      previous: SecretOption): Either[EpochalException, Seq[Secret]] =
    for {
      _ <- values
        .together(previous.isSet(values) && !current.isSet(values), previous.setName(values), current.name)
      now <- current.of(values)
      before <- previous.of(values)
      found = now.toSeq ++ before
      _ <- found.map(_.readable).collectFirst { case Left(unreadable) => unreadable }.toLeft(())
    } yield found

  private def together(
      values: OptionValues,
      spec: OptionSpec[_],
      secret: SecretOption): Either[EpochalException, Unit] =
    for {
      _ <- values.together(values.isSet(spec) && !secret.isSet(values), spec.name, secret.name)
      _ <- values.together(secret.isSet(values) && !values.isSet(spec), secret.name, spec.name)
    } yield ()
}

/** Authentication settings. `toString` contains no secrets.
  *
  * @param delivery
  *   where the sender puts the delivery id; None: it sends none
  */
final private[ingest] class AdmissionSettings(
    val delivery: Option[DeliveryId.Finder],
    private[http] val open: Clock => Admission) {
  override def toString: String = s"Admission(${Redaction.Mask})"
}
