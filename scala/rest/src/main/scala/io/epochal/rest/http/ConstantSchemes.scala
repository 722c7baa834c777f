package io.epochal.rest.http

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.option.{OptionType, OptionValues}
import io.epochal.kit.access.Secret

/** Settings of a scheme whose credential is the same for every request. Secrets are read for each request, so a changed
  * secret takes effect at once.
  */
private[http] trait ConstantCredential extends AuthSettings with Credential {
  override def open(http: HttpSettings, counters: HttpCounters): Credential = this
}

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

  /** The header's value. */
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

/** A key in a header or a query parameter. */
object ApiKey extends AuthScheme {

  val Key = secret("apiKey", "API key, in addition to any other authentication")
  val Header = option("apiKeyHeader", OptionType.string, Some("X-API-Key"))("Header for apiKey.")
  val Param = option("apiKeyParam", OptionType.string, sample = Some("api_key"))(
    "Query parameter for apiKey, instead of a header; not part of the source's identity.")

  override def read(values: OptionValues, endpoint: Endpoint): Either[EpochalException, Option[AuthSettings]] =
    for {
      key <- Key.of(values)
      _ <- values.together(values.isSet(Header) && key.isEmpty, Header.name, Key.name)
      _ <- values.together(values.isSet(Param) && key.isEmpty, Param.name, Key.name)
      _ <- values.exclusive("The key is sent in one place: keep one of them.")(Header, Param)
      settings = key.map(Settings(Key.setName(values), _, values(Header), values.get(Param)))
      _ <- settings.map(place(values, endpoint, _)).getOrElse(Right(()))
      _ <- settings.map(one => AuthScheme.sendable(values.group.format, one.option, one.key)).getOrElse(Right(()))
    } yield settings

  private def place(values: OptionValues, endpoint: Endpoint, found: Settings): Either[EpochalException, Unit] =
    found.parameter match {
      case Some(name) =>
        val taken = values.family(RequestOptions.Params).contains(name) || endpoint.parameters(name)
        values.consistent(!taken)(
          s"${Param.reference}, the parameter '$name'",
          s"Take '$name' out of {option:url} and params.")
      case None =>
        val name = found.header
        val twice = values.family(RequestOptions.Headers).keys.exists(_.equalsIgnoreCase(name))
        HttpHeaders
          .name(values.group.format, Header.name, name)
          .flatMap(_ => values.consistent(!twice)(s"${Header.reference}, headers.$name", "Keep one of them."))
    }

  /** @param header
    *   carries the key, unless `parameter` is set
    */
  final private case class Settings(option: String, key: Secret, header: String, override val parameter: Option[String])
      extends ConstantCredential {
    override def secrets: Seq[Secret] = Seq(key)
    override def headers: Seq[(String, String)] =
      if (parameter.isEmpty) Seq(header -> key.read()) else Nil
    override def parameters: Seq[(String, String)] = parameter.map(_ -> key.read()).toSeq
  }
}
