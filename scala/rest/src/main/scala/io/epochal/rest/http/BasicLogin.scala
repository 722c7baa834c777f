package io.epochal.rest.http

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.option.{OptionType, OptionValues}
import io.epochal.kit.access.Secret

/** RFC 7617: `Authorization: Basic`. Some APIs accept a key as the user, without a password. */
object BasicLogin extends AuthScheme {

  val User = option("user", OptionType.string, secret = true)(
    "User name for basic authentication; without password where the API takes a key as the name.")
  val Password = secret("password", "Password for basic authentication")

  override def read(values: OptionValues, endpoint: Endpoint): Either[EpochalException, Option[AuthSettings]] =
    for {
      password <- Password.of(values)
      lacking = password.isDefined && !values.isSet(User)
      _ <- values.together(lacking, Password.setName(values), User.name)
      _ <- password.map(_.readable).getOrElse(Right(""))
    } yield values.get(User).map(Settings(_, password))

  private[http] def header(user: String, password: String): String =
    s"Basic ${Base64.getEncoder.encodeToString(s"$user:$password".getBytes(UTF_8))}"

  final private case class Settings(user: String, password: Option[Secret]) extends ConstantCredential {
    override def option: String = User.name
    override def secrets: Seq[Secret] = Secret.Given(user) +: password.toSeq
    override def isAuthorization: Boolean = true
    override def headers: Seq[(String, String)] =
      Seq("Authorization" -> header(user, password.fold("")(_.read())))
    override def toString: String = s"Basic(${Redaction.Mask})"
  }
}
