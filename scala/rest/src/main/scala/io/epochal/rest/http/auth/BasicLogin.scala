package io.epochal.rest.http.auth

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}
import io.epochal.kit.access.{Secret, SecretOption}
import io.epochal.rest.http.request.Endpoint

/** RFC 7617: `Authorization: Basic`. Some APIs take a key as the user, and no password. */
object BasicLogin extends AuthScheme {

  val User: OptionSpec[String] = OptionSpec(
    "user",
    OptionType.string,
    "Name for basic authorization; with no password where the API takes a key as the name.",
    secret = true)
  val Password: SecretOption = SecretOption("password", "Password for basic authorization")

  override val options: Seq[OptionSpec[_]] = User +: Password.all

  override def read(values: OptionValues, endpoint: Endpoint): Either[EpochalException, Option[AuthSettings]] =
    for {
      password <- Password.of(values)
      lacking = password.isDefined && !values.isSet(User)
      _ <- values.together(lacking, Password.setName(values), User.name)
      _ <- password.fold[Either[EpochalException, String]](Right(""))(_.readable)
    } yield values.get(User).map(Settings(_, password))

  /** The header's value. */
  private[auth] def header(user: String, password: String): String =
    s"Basic ${Base64.getEncoder.encodeToString(s"$user:$password".getBytes(UTF_8))}"

  final private case class Settings(user: String, password: Option[Secret]) extends ConstantProof {
    override def option: String = User.name
    override def secrets: Seq[Secret] = Secret.Given(user) +: password.toSeq
    override def isAuthorization: Boolean = true
    override def headers: Seq[(String, String)] =
      Seq("Authorization" -> header(user, password.fold("")(_.read())))
    override def toString: String = s"Basic(${Redaction.Mask})"
  }
}
