package io.epochal.rest.http

import java.net.URI

import io.epochal.core.error.{EpochalException, Reference}
import io.epochal.core.option.{OptionSpec, OptionValues}
import io.epochal.kit.access.Secret

/** An authentication scheme: its options, their checks and its settings. Registered in the companion object. */
abstract private[rest] class AuthScheme extends OptionList {

  /** Reads and checks the scheme's options and secrets before the query starts.
    *
    * @param endpoint
    *   its headers and parameters must not be set a second time
    * @return
    *   None if the options do not select this scheme
    */
  def read(values: OptionValues, endpoint: Endpoint): Either[EpochalException, Option[AuthSettings]]
}

private[rest] object AuthScheme {

  /** Add new schemes here. */
  private val schemes: Seq[AuthScheme] = Seq(BearerToken, BasicLogin, ApiKey, OAuth, Signature)

  val options: Seq[OptionSpec[_]] = schemes.flatMap(_.all)

  /** The first option of each scheme, for errors of queries without credentials. */
  def names: Seq[String] = schemes.map(_.all.head.reference)

  /** The settings of all schemes that the options select. */
  def read(values: OptionValues, endpoint: Endpoint): Either[EpochalException, Seq[AuthSettings]] =
    for {
      found <- schemes.foldLeft[Either[EpochalException, Seq[AuthSettings]]](Right(Nil))((found, scheme) =>
        found.flatMap(before => scheme.read(values, endpoint).map(before ++ _)))
      all = found.filter(_.isAuthorization).map(_.reference) ++
        Option.when(endpoint.hasUserInfo)("user info in {option:url}") ++
        values
          .family(RequestOptions.Headers)
          .keys
          .find(_.equalsIgnoreCase("Authorization"))
          .map(name => s"headers.$name")
      _ <- values.consistent(all.size <= 1)(all.mkString(", "), "A request has one authorization: keep one of them.")
    } yield found

  /** Rejects a secret that cannot be read, or that is not a valid header value.
    *
    * @param option
    *   its name
    */
  private[http] def sendable(format: String, option: String, secret: Secret): Either[EpochalException, Unit] =
    secret.readable.flatMap(HttpHeaders.value(format, option, _))
}

/** The settings of one scheme. Serialized to the executors with the secrets as read on the driver; prints without them.
  */
private[epochal] trait AuthSettings extends Serializable {

  /** The option that selected the scheme, as the user wrote it. */
  def option: String

  final def reference: String = Reference.option(option)

  /** Values that are masked in all texts. */
  def secrets: Seq[Secret]

  /** Whether it sets the Authorization header, which a request has only once. */
  def isAuthorization: Boolean = false

  /** Name of the query parameter that it adds, which is excluded from the source's identity. */
  def parameter: Option[String] = None

  /** For the requests of a client with these settings. */
  def open(http: HttpSettings, counters: HttpCounters): Credential
}

/** A scheme in use by one stream or task. Thread-safe. */
private[epochal] trait Credential extends AutoCloseable {

  /** The headers that authenticate the next request; called for each retry.
    *
    * @throws EpochalException
    *   if there is no credential
    */
  def headers: Seq[(String, String)] = Nil

  /** Query parameters, not yet encoded. */
  def parameters: Seq[(String, String)] = Nil

  /** Headers computed from the finished request.
    *
    * @param target
    *   path and query, with all parameters
    * @param headers
    *   ours and the user's; `Host` and the body's headers are added later
    */
  def signature(call: HttpCall, base: URI, target: String, headers: => Seq[(String, String)]): Seq[(String, String)] =
    Nil

  /** Called when the server rejects a request with these headers (401).
    *
    * @return
    *   whether the next request has other ones: it is then repeated once
    */
  def rejected(headers: Seq[(String, String)]): Boolean = false

  override def close(): Unit = ()
}
