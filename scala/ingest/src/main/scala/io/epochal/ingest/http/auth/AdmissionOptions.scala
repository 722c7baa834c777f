package io.epochal.ingest.http.auth

import java.nio.charset.StandardCharsets.UTF_8
import java.time.{Clock, Duration}
import java.util.Base64

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}
import io.epochal.kit.access.{Secret, SecretOption}

/** Who may write: a bearer token, a user with a password, or the signature of a sender of webhooks; one of them. */
private[ingest] object AdmissionOptions {

  val Token: SecretOption = SecretOption("bearerToken", "Bearer token that requests must have")
  val PreviousToken: SecretOption =
    SecretOption("previousBearerToken", "Bearer token that is still accepted while clients change to bearerToken")
  val User: OptionSpec[String] =
    OptionSpec("user", OptionType.string, "Name that requests must have, with the password.", secret = true)
  val Password: SecretOption = SecretOption("password", "Password of user, by basic authorization")
  val PreviousPassword: SecretOption =
    SecretOption("previousPassword", "Password that is still accepted while clients change to password")
  val Signature: OptionSpec[String] = OptionSpec(
    "signature",
    OptionType.oneOf("github", "stripe", "slack", "header"),
    "Who signs the requests, with signatureSecret: github, stripe, slack, or any sender that puts an HMAC of the body into a header.")
  val SignatureSecret: SecretOption = SecretOption("signatureSecret", "Secret that webhooks are signed with")
  val PreviousSignatureSecret: SecretOption =
    SecretOption("previousSignatureSecret", "Secret that is still accepted while the sender changes to signatureSecret")
  val SignatureTolerance: OptionSpec[Duration] = OptionSpec(
    "signatureTolerance",
    OptionType.duration,
    "How far the time that stripe and slack sign may be from the driver's clock; older requests are refused.",
    Some(Duration.ofMinutes(5)))
  val SignatureHeader: OptionSpec[String] = OptionSpec(
    "signatureHeader",
    OptionType.string,
    "With signature=header: the header that has the signature.",
    sample = Some("X-Signature"))
  val SignaturePrefix: OptionSpec[String] = OptionSpec(
    "signaturePrefix",
    OptionType.string,
    "With signature=header: the text before the signature. Unset: none.",
    sample = Some("sha256="))
  val SignatureAlgorithm: OptionSpec[String] = OptionSpec(
    "signatureAlgorithm",
    OptionType.oneOf("HmacSHA256", "HmacSHA512", "HmacSHA1"),
    "With signature=header: how the body is signed.",
    Some("HmacSHA256"))
  val SignatureEncoding: OptionSpec[String] = OptionSpec(
    "signatureEncoding",
    OptionType.oneOf(WebhookSignature.Hex, WebhookSignature.InBase64),
    "With signature=header: how the signature is written.",
    Some(WebhookSignature.Hex))

  /** Whose signatures have a time. */
  private val Timed = Set("stripe", "slack")

  private val ofHeader = Seq(SignatureHeader, SignaturePrefix, SignatureAlgorithm, SignatureEncoding)

  val all: Seq[OptionSpec[_]] = Token.all ++ PreviousToken.all ++ Seq(User) ++ Password.all ++ PreviousPassword.all ++
    Seq(Signature) ++ SignatureSecret.all ++ PreviousSignatureSecret.all ++ Seq(SignatureTolerance) ++ ofHeader

  def read(values: OptionValues): Either[EpochalException, Option[AdmissionSettings]] =
    for {
      _ <- belongs(values, PreviousToken, Token.isSet(values), Token.name)
      _ <- belongs(values, PreviousPassword, Password.isSet(values), Password.name)
      _ <- belongs(values, PreviousSignatureSecret, SignatureSecret.isSet(values), SignatureSecret.name)
      _ <- together(values, values.isSet(User), Password.isSet(values), User.name, Password.name)
      _ <- together(
        values,
        values.isSet(Signature),
        SignatureSecret.isSet(values),
        Signature.name,
        SignatureSecret.name)
      _ <- headerOnly(values)
      _ <- toleranceOnly(values)
      tokens <- secrets(values, Token, PreviousToken)
      passwords <- secrets(values, Password, PreviousPassword)
      keys <- secrets(values, SignatureSecret, PreviousSignatureSecret)
      chosen = Seq(Token.name -> tokens, User.name -> passwords, Signature.name -> keys).collect {
        case (name, found) if found.nonEmpty => name
      }
      _ <- Either.cond(
        chosen.size <= 1,
        (),
        values.conflict(chosen.mkString(", "), "A listener admits by one of them: keep one."))
    } yield chosen.headOption.map {
      case Token.name => AdmissionSettings.bearer(tokens)
      case User.name  => AdmissionSettings.basic(values(User), passwords)
      case _          => signed(values, keys)
    }

  private def signed(values: OptionValues, keys: Seq[Secret]): AdmissionSettings = {
    val tolerance = values(SignatureTolerance)
    values(Signature) match {
      case "github" =>
        AdmissionSettings.signed(keys, DeliveryId.Header("X-GitHub-Delivery"), _ => WebhookSignature.GitHub)
      case "stripe" => AdmissionSettings.signed(keys, DeliveryId.Field("id"), WebhookSignature.Stripe(tolerance, _))
      case "slack" => AdmissionSettings.signed(keys, DeliveryId.Field("event_id"), WebhookSignature.Slack(tolerance, _))
      case _ =>
        val header = WebhookSignature.Header(
          values(SignatureHeader),
          values.get(SignaturePrefix).getOrElse(""),
          values(SignatureAlgorithm),
          values(SignatureEncoding))
        AdmissionSettings.signed(keys, DeliveryId.Unnamed, _ => header)
    }
  }

  private def headerOnly(values: OptionValues): Either[EpochalException, Unit] = {
    val isHeader = values.get(Signature).contains("header")
    val stray = ofHeader.find(values.isSet(_)).filter(_ => !isHeader)
    for {
      _ <- stray
        .map(spec =>
          values
            .conflict(s"${spec.name} without signature=header", s"Set signature=header, or leave ${spec.name} out."))
        .toLeft(())
      _ <- if (isHeader) values.required(SignatureHeader) else Right("")
    } yield ()
  }

  private def toleranceOnly(values: OptionValues): Either[EpochalException, Unit] = Either.cond(
    !values.isSet(SignatureTolerance) || values.get(Signature).exists(Timed),
    (),
    values.conflict(
      s"${SignatureTolerance.name} without signature=stripe or slack",
      s"Leave ${SignatureTolerance.name} out: other signatures have no time.")
  )

  /** Each secret is read once: what cannot be read is refused before the query starts. */
  private def secrets(
      values: OptionValues,
      current: SecretOption,
      previous: SecretOption): Either[EpochalException, Seq[Secret]] =
    for {
      now <- current.of(values)
      before <- previous.of(values)
      found = now.toSeq ++ before
      _ <-
        try {
          found.foreach(_.read())
          Right(())
        } catch { case unreadable: EpochalException => Left(unreadable) }
    } yield found

  private def belongs(values: OptionValues, option: SecretOption, isThere: Boolean, needed: String) =
    together(values, option.isSet(values), isThere, option.setName(values), needed, mutual = false)

  private def together(
      values: OptionValues,
      one: Boolean,
      other: Boolean,
      oneName: String,
      otherName: String,
      mutual: Boolean = true): Either[EpochalException, Unit] =
    if (one && !other)
      Left(values.conflict(s"$oneName without $otherName", s"Set $otherName too, or leave $oneName out."))
    else if (mutual && other && !one)
      Left(values.conflict(s"$otherName without $oneName", s"Set $oneName too, or leave $otherName out."))
    else Right(())
}

/** What the options say of who may write. Prints without secrets.
  *
  * @param delivery
  *   how the sender names what it delivers
  */
final private[ingest] class AdmissionSettings(val delivery: DeliveryId, make: Clock => Admission) {
  private[http] def open(clock: Clock): Admission = make(clock)
  override def toString: String = s"Admission(${Redaction.Mask})"
}

private[ingest] object AdmissionSettings {

  private[auth] def bearer(tokens: Seq[Secret]): AdmissionSettings = new AdmissionSettings(
    DeliveryId.Unnamed,
    _ => new AuthorizationAdmission("Bearer", new CurrentSecrets(tokens, _.getBytes(UTF_8))))

  private[auth] def basic(user: String, passwords: Seq[Secret]): AdmissionSettings = new AdmissionSettings(
    DeliveryId.Unnamed,
    _ =>
      new AuthorizationAdmission(
        "Basic realm=\"epochal\", charset=\"UTF-8\"",
        new CurrentSecrets(passwords, password => Base64.getEncoder.encode(s"$user:$password".getBytes(UTF_8)))))

  private[auth] def signed(
      secrets: Seq[Secret],
      delivery: DeliveryId,
      kind: Clock => WebhookSignature): AdmissionSettings =
    new AdmissionSettings(
      delivery,
      clock => new SignatureAdmission(kind(clock), new CurrentSecrets(secrets, _.getBytes(UTF_8))))
}
