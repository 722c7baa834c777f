package io.epochal.rest.http

import java.net.URI
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64

import scala.jdk.CollectionConverters._
import scala.util.Try
import scala.util.control.NonFatal

import io.epochal.core.error.{Conditions, EpochalException, Redaction, Reference}
import io.epochal.core.journal.FileStore
import io.epochal.core.option.{OptionGroup, OptionSpec, OptionType, OptionValues}
import io.epochal.kit.access.{DriverAccess, Secret, SecretOption}
import io.epochal.kit.{RequestSigner, UnsignedRequest}

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

  /** The settings, if the option that selects the scheme is set; without it the other ones are rejected. */
  final protected def selected(values: OptionValues, first: OptionSpec[_], isSet: Boolean)(
      settings: => Either[EpochalException, AuthSettings]): Either[EpochalException, Option[AuthSettings]] = {
    def others = all.flatMap { spec =>
      if (spec.name.endsWith("*")) values.family(spec).keys.map(key => Reference.option(spec.prefix + key))
      else Option.when(values.isSet(spec))(spec.reference)
    }
    if (isSet) settings.map(Some(_))
    else
      values
        .consistent(others.isEmpty)(
          s"${others.mkString(", ")} without ${first.reference}",
          s"Set ${first.reference} too, or leave ${others.mkString(", ")} out.")
        .map(_ => None)
  }

  final protected def selected(values: OptionValues, first: OptionSpec[_])(
      settings: => Either[EpochalException, AuthSettings]): Either[EpochalException, Option[AuthSettings]] =
    selected(values, first, values.isSet(first))(settings)

  /** An option that the scheme needs. */
  final protected def needed[A](
      values: OptionValues,
      first: OptionSpec[_],
      spec: OptionSpec[A]): Either[EpochalException, A] =
    values.get(spec).toRight(missing(values, first, spec))

  /** A readable secret that the scheme needs. */
  final protected def needed(
      values: OptionValues,
      first: OptionSpec[_],
      secret: SecretOption): Either[EpochalException, Secret] =
    for {
      found <- secret.of(values)
      one <- found.toRight(missing(values, first, secret.text))
      _ <- one.readable
    } yield one

  final protected def missing(values: OptionValues, first: OptionSpec[_], spec: OptionSpec[_]): EpochalException =
    OptionGroup.missing(s"${values.group.format} with ${first.reference}", spec, spec.doc)
}

private[rest] object AuthScheme {

  /** Add new schemes here. */
  private val schemes: Seq[AuthScheme] = Seq(BearerToken, BasicLogin, Digest, ApiKey, OAuth, AwsSigV4, Hmac, Signature)

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

  /** Called when a stream starts: what the server replaces is kept in this directory of its checkpoint. */
  def keep(store: => FileStore): Unit = ()

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
    * @param challenges
    *   the response's headers `WWW-Authenticate`
    * @return
    *   whether the next request has other ones: it is then repeated once
    */
  def rejected(headers: Seq[(String, String)], challenges: Seq[String]): Boolean = false

  override def close(): Unit = ()
}

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

/** The class that signs requests, and its settings. Prints without the settings. */
final case class SignerSettings(className: String, settings: Map[String, String]) extends AuthSettings {
  override def option: String = Signature.SignerClass.name
  override def secrets: Seq[Secret] = settings.values.map(Secret.Given(_)).toSeq
  override def open(http: HttpSettings, counters: HttpCounters): Credential = new Signer(this)
  override def toString: String = s"$className(${Redaction.Mask})"
}

/** Calls the user's [[RequestSigner]] and checks its contract.
  *
  * @throws EpochalException
  *   SIGNER_INVALID if it cannot be instantiated or fails to sign
  */
final private class Signer(settings: SignerSettings) extends Credential {

  private val signer = load()
  attempted("configure")(signer.configure(settings.settings.asJava))

  override def signature(
      call: HttpCall,
      base: URI,
      target: String,
      headers: => Seq[(String, String)]): Seq[(String, String)] = {
    val request = new UnsignedRequest(
      call.method,
      URI.create(s"$base$target"),
      headers.toMap.asJava,
      call.body.fold(Array.emptyByteArray)(_.bytes))
    val added = attempted("sign")(signer.sign(request).asScala.toSeq)
    added.foreach { case (name, value) =>
      val good = HttpHeaders.name("", "", name).flatMap(_ => HttpHeaders.value("", "", value))
      if (good.isLeft)
        throw invalid(s"sign returned the header '${HttpFailure.shown(name)}', which cannot be sent or may not be set")
    }
    added
  }

  private def load(): RequestSigner = {
    // Checks the type without initializing the class.
    val found = DriverAccess.current.loaders.reverseIterator
      .flatMap(loader => Try(Class.forName(settings.className, false, loader)).toOption)
      .nextOption()
      .getOrElse(throw invalid("the class is not on the class path"))
    if (!classOf[RequestSigner].isAssignableFrom(found))
      throw invalid(s"it is not an ${classOf[RequestSigner].getName}")
    try found.getDeclaredConstructor().newInstance().asInstanceOf[RequestSigner]
    catch {
      case e @ (_: ReflectiveOperationException | _: LinkageError) =>
        throw invalid(s"it cannot be instantiated (${e.getClass.getSimpleName})")
    }
  }

  private def attempted[A](method: String)(body: => A): A =
    try body
    catch {
      case e: IllegalArgumentException if method == "configure" => throw invalid(masked(String.valueOf(e.getMessage)))
      case NonFatal(e)                                          => throw invalid(s"$method threw ${e.getClass.getName}")
    }

  private def masked(text: String): String =
    settings.settings.values.filter(_.nonEmpty).foldLeft(text)(_.replace(_, Redaction.Mask))

  private def invalid(reason: String): EpochalException =
    Conditions.SignerInvalid("class" -> settings.className, "reason" -> reason)
}

/** A signature of each request by a user's class. */
object Signature extends AuthScheme {

  val SignerClass = option("signerClass", OptionType.string, sample = Some("com.example.HmacSigner"))(
    "Request signer: an io.epochal.kit.RequestSigner on the class path of driver and executors.")
  val Settings = option("signer.*", OptionType.string, secret = true)("Settings for signerClass.")

  /** Instantiates a signer once, so that errors appear before the query starts. */
  override def read(values: OptionValues, endpoint: Endpoint): Either[EpochalException, Option[AuthSettings]] =
    (values.get(SignerClass), values.family(Settings)) match {
      case (None, found) => values.together(found.nonEmpty, Settings.name, SignerClass.name).map(_ => None)
      case (Some(name), found) =>
        val settings = SignerSettings(name, found)
        try {
          DriverAccess.current.classNamed(SignerClass.reference, name)
          new Signer(settings)
          Right(Some(settings))
        } catch { case invalid: EpochalException => Left(invalid) }
    }
}
