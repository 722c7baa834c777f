package io.epochal.rest.http

import java.net.URI

import scala.jdk.CollectionConverters._
import scala.util.Try
import scala.util.control.NonFatal

import io.epochal.core.error.{Conditions, EpochalException, Redaction}
import io.epochal.core.option.{OptionType, OptionValues}
import io.epochal.kit.access.{DriverAccess, Secret}
import io.epochal.kit.{RequestSigner, UnsignedRequest}

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
