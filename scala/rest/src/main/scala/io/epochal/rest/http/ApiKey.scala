package io.epochal.rest.http

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionType, OptionValues}
import io.epochal.kit.access.Secret

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

  private def place(values: OptionValues, endpoint: Endpoint, settings: Settings): Either[EpochalException, Unit] =
    settings.parameter match {
      case Some(name) =>
        val taken = values.family(RequestOptions.Params).contains(name) || endpoint.parameters(name)
        values.consistent(!taken)(
          s"${Param.reference}, the parameter '$name'",
          s"Take '$name' out of {option:url} and params.")
      case None =>
        val name = settings.header
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
