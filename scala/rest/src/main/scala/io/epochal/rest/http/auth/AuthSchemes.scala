package io.epochal.rest.http.auth

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionSpec, OptionValues}
import io.epochal.rest.http.request.{Endpoint, RequestOptions}

/** All ways to say who asks. A new one is a file of its own, and its name here. */
object AuthSchemes {

  val all: Seq[AuthScheme] = Seq(BearerToken, BasicLogin, ApiKey, OAuth, Signature)

  val options: Seq[OptionSpec[_]] = all.flatMap(_.options)

  /** The first option of each: what a user without credentials can set. */
  val names: Seq[String] = all.map(_.options.head.name)

  def read(values: OptionValues, endpoint: Endpoint): Either[EpochalException, HttpAuth] =
    all
      .foldLeft[Either[EpochalException, Seq[AuthSettings]]](Right(Nil)) { (found, scheme) =>
        found.flatMap(before => scheme.read(values, endpoint).map(before ++ _))
      }
      .flatMap(found => oneAuthorization(values, endpoint, found).map(_ => HttpAuth(found)))

  private def oneAuthorization(
      values: OptionValues,
      endpoint: Endpoint,
      found: Seq[AuthSettings]): Either[EpochalException, Unit] = {
    val all = found.filter(_.isAuthorization).map(_.option) ++
      Option.when(endpoint.hasUserInfo)("user info in url") ++
      values.family(RequestOptions.Headers).keys.find(_.equalsIgnoreCase("Authorization")).map(name => s"headers.$name")
    Either.cond(
      all.size <= 1,
      (),
      values.conflict(all.mkString(", "), "A request has one authorization: keep one of them."))
  }
}
