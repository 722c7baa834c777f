package io.epochal.rest.http.auth

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionSpec, OptionValues}
import io.epochal.kit.access.{Secret, SecretOption}
import io.epochal.rest.http.request.Endpoint

/** RFC 6750: `Authorization: Bearer`. */
object BearerToken extends AuthScheme {

  val Token: SecretOption = SecretOption("bearerToken", "Bearer token of every request")

  override val options: Seq[OptionSpec[_]] = Token.all

  override def read(values: OptionValues, endpoint: Endpoint): Either[EpochalException, Option[AuthSettings]] =
    Token.of(values).flatMap {
      case None => Right(None)
      case Some(token) =>
        val option = Token.setName(values)
        AuthScheme.sendable(values.group.format, option, token).map(_ => Some(Settings(option, token)))
    }

  final private[rest] case class Settings(option: String, token: Secret) extends ConstantProof {
    override def secrets: Seq[Secret] = Seq(token)
    override def isAuthorization: Boolean = true
    override def headers: Seq[(String, String)] = Seq("Authorization" -> s"Bearer ${token.read()}")
  }
}
