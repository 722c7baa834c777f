package io.epochal.rest.http.auth

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}
import io.epochal.kit.access.{Secret, SecretOption}
import io.epochal.rest.http.request.{Endpoint, HttpHeaders, RequestOptions}

/** A key in a header of its own, or in a parameter of the query. */
object ApiKey extends AuthScheme {

  val Key: SecretOption = SecretOption("apiKey", "Key of every request, beside any other authorization")
  val Header: OptionSpec[String] =
    OptionSpec("apiKeyHeader", OptionType.string, "Header that has apiKey.", Some("X-API-Key"))
  val Param: OptionSpec[String] = OptionSpec(
    "apiKeyParam",
    OptionType.string,
    "Parameter that has apiKey, in place of a header; it does not count for the source's identity.",
    sample = Some("api_key"))

  override val options: Seq[OptionSpec[_]] = Key.all ++ Seq(Header, Param)

  override def read(values: OptionValues, endpoint: Endpoint): Either[EpochalException, Option[AuthSettings]] =
    for {
      key <- Key.of(values)
      _ <- values.together(values.isSet(Header) && key.isEmpty, Header.name, Key.name)
      _ <- values.together(values.isSet(Param) && key.isEmpty, Param.name, Key.name)
      _ <- values.exclusive("The key is sent in one place: keep one of them.")(Header, Param)
      settings = key.map(Settings(Key.setName(values), _, values(Header), values.get(Param)))
      _ <- settings.fold[Either[EpochalException, Unit]](Right(()))(check(values, endpoint, _))
    } yield settings

  private def check(values: OptionValues, endpoint: Endpoint, found: Settings): Either[EpochalException, Unit] =
    place(values, endpoint, found).flatMap(_ => AuthScheme.sendable(values.group.format, found.option, found.key))

  private def place(values: OptionValues, endpoint: Endpoint, found: Settings): Either[EpochalException, Unit] =
    found.parameter match {
      case Some(name) =>
        val taken = values.family(RequestOptions.Params).contains(name) || endpoint.parameters(name)
        Either.cond(
          !taken,
          (),
          values.conflict(s"${Param.name}, the parameter '$name'", s"Take '$name' out of url and params."))
      case None =>
        val name = found.header
        val twice = values.family(RequestOptions.Headers).keys.exists(_.equalsIgnoreCase(name))
        HttpHeaders
          .name(values.group.format, Header.name, name)
          .flatMap(_ => Either.cond(!twice, (), values.conflict(s"${Header.name}, headers.$name", "Keep one of them.")))
    }

  /** @param header
    *   that has the key, unless a parameter has it
    */
  final private case class Settings(option: String, key: Secret, header: String, override val parameter: Option[String])
      extends ConstantProof {
    override def secrets: Seq[Secret] = Seq(key)
    override def headers: Seq[(String, String)] =
      if (parameter.isEmpty) Seq(header -> key.read()) else Nil
    override def parameters: Seq[(String, String)] = parameter.map(_ -> key.read()).toSeq
  }
}
