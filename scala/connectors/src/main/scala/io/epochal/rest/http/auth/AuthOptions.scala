package io.epochal.rest.http.auth

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}
import io.epochal.kit.access.{Secret, SecretOption}
import io.epochal.rest.http.request.{Endpoint, HttpHeaders, RequestOptions}

/** The options that say who asks. */
object AuthOptions {

  val BearerToken: SecretOption = SecretOption("bearerToken", "Bearer token of every request")
  val User: OptionSpec[String] = OptionSpec(
    "user",
    OptionType.string,
    "Name for basic authorization; with no password where the API takes a key as the name.",
    secret = true)
  val Password: SecretOption = SecretOption("password", "Password for basic authorization")
  val ApiKeyText: SecretOption = SecretOption("apiKey", "Key of every request, beside any other authorization")
  val ApiKeyHeader: OptionSpec[String] =
    OptionSpec("apiKeyHeader", OptionType.string, "Header that has apiKey.", Some("X-API-Key"))
  val ApiKeyParam: OptionSpec[String] = OptionSpec(
    "apiKeyParam",
    OptionType.string,
    "Parameter that has apiKey, in place of a header; it does not count for the source's identity.",
    sample = Some("api_key"))

  val all: Seq[OptionSpec[_]] =
    Seq(
      BearerToken.all,
      Seq(User),
      Password.all,
      ApiKeyText.all,
      Seq(ApiKeyHeader, ApiKeyParam),
      OAuthOptions.all,
      SignerOptions.all).flatten

  /** Reads each secret once: what cannot be read, or cannot be sent, is refused before the query starts.
    *
    * @param endpoint
    *   whose own headers and parameters are not to be set a second time
    */
  def read(values: OptionValues, endpoint: Endpoint): Either[EpochalException, HttpAuth] = {
    val format = values.group.format
    for {
      bearer <- BearerToken.of(values)
      password <- Password.of(values)
      key <- ApiKeyText.of(values)
      oauth <- OAuthOptions.read(values)
      signer <- SignerOptions.read(values)
      _ <- oneAuthorization(values, endpoint)
      _ <- together(values, Password.isSet(values) && !values.isSet(User), Password.setName(values), "user")
      _ <- together(values, values.isSet(ApiKeyHeader) && key.isEmpty, "apiKeyHeader", "apiKey")
      _ <- together(values, values.isSet(ApiKeyParam) && key.isEmpty, "apiKeyParam", "apiKey")
      _ <- values.exclusive("The key is sent in one place: keep one of them.")(ApiKeyHeader, ApiKeyParam)
      _ <- key.fold[Either[EpochalException, Unit]](Right(()))(_ => keyPlace(values, endpoint))
      _ <- sendable(format, bearer.map(BearerToken.setName(values) -> _))
      _ <- sendable(format, key.map(ApiKeyText.setName(values) -> _))
      _ <- readable(password)
    } yield HttpAuth(
      bearer
        .map(Authorization.Bearer(_))
        .orElse(values.get(User).map(Authorization.Basic(_, password)))
        .orElse(oauth.map(Authorization.OAuth(_))),
      key.map(
        ApiKey(_, values.get(ApiKeyParam).fold[KeyPlace](KeyPlace.Header(values(ApiKeyHeader)))(KeyPlace.Param(_)))),
      signer)
  }

  private def oneAuthorization(values: OptionValues, endpoint: Endpoint): Either[EpochalException, Unit] = {
    val found = Option.when(BearerToken.isSet(values))(BearerToken.setName(values)).toSeq ++
      Option.when(values.isSet(User))(User.name) ++
      Option.when(OAuthOptions.isSet(values))(OAuthOptions.TokenUrl.name) ++
      Option.when(endpoint.hasUserInfo)("user info in url") ++
      values.family(RequestOptions.Headers).keys.find(_.equalsIgnoreCase("Authorization")).map(name => s"headers.$name")
    Either.cond(
      found.size <= 1,
      (),
      values.conflict(found.mkString(", "), "A request has one authorization: keep one of them."))
  }

  private def keyPlace(values: OptionValues, endpoint: Endpoint): Either[EpochalException, Unit] =
    values.get(ApiKeyParam) match {
      case Some(name) =>
        val taken = values.family(RequestOptions.Params).contains(name) || endpoint.parameters(name)
        Either.cond(
          !taken,
          (),
          values.conflict(s"apiKeyParam, the parameter '$name'", s"Take '$name' out of url and params."))
      case None =>
        val name = values(ApiKeyHeader)
        val twice = values.family(RequestOptions.Headers).keys.exists(_.equalsIgnoreCase(name))
        HttpHeaders
          .name(values.group.format, ApiKeyHeader.name, name)
          .flatMap(_ => Either.cond(!twice, (), values.conflict(s"apiKeyHeader, headers.$name", "Keep one of them.")))
    }

  private def together(
      values: OptionValues,
      lacking: Boolean,
      option: String,
      needed: String): Either[EpochalException, Unit] =
    Either.cond(!lacking, (), values.conflict(s"$option without $needed", s"Set $needed too, or leave $option out."))

  private[auth] def readable(secret: Option[Secret]): Either[EpochalException, Unit] =
    try Right(secret.foreach(_.read()))
    catch { case unreadable: EpochalException => Left(unreadable) }

  private def sendable(format: String, secret: Option[(String, Secret)]): Either[EpochalException, Unit] =
    readable(secret.map(_._2)).flatMap { _ =>
      secret.fold[Either[EpochalException, Unit]](Right(())) { case (option, value) =>
        HttpHeaders.value(format, option, value.read())
      }
    }
}
