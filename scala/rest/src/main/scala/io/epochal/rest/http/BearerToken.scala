package io.epochal.rest.http

import io.epochal.core.error.EpochalException
import io.epochal.core.option.OptionValues
import io.epochal.kit.access.Secret

/** RFC 6750: `Authorization: Bearer`. */
object BearerToken extends AuthScheme {

  val Token = secret("bearerToken", "Bearer token")

  override def read(values: OptionValues, endpoint: Endpoint): Either[EpochalException, Option[AuthSettings]] =
    for {
      token <- Token.of(values)
      settings = token.map(Settings(Token.setName(values), _))
      _ <- settings.map(one => AuthScheme.sendable(values.group.format, one.option, one.token)).getOrElse(Right(()))
    } yield settings

  final private[rest] case class Settings(option: String, token: Secret) extends ConstantCredential {
    override def secrets: Seq[Secret] = Seq(token)
    override def isAuthorization: Boolean = true
    override def headers: Seq[(String, String)] = Seq("Authorization" -> s"Bearer ${token.read()}")
  }
}
