package io.epochal.rest.http

import java.net.URI

import scala.jdk.CollectionConverters._
import scala.util.Try
import scala.util.control.NonFatal

import io.epochal.core.error.{Conditions, EpochalException, Redaction}
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
  attempt("configure")(signer.configure(settings.settings.asJava))

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
    val ownHeaders = attempt("sign")(signer.sign(request).asScala.toSeq)
    ownHeaders.foreach { case (name, value) =>
      val good = HttpHeaders.name("", "", name).flatMap(_ => HttpHeaders.value("", "", value))
      if (good.isLeft)
        throw invalid(
          s"sign returned the header '${HttpFailure.excerpt(name)}', which cannot be sent or may not be set")
    }
    ownHeaders
  }

  private def load(): RequestSigner = {
    // Checks the type without initializing the class.
    val signerClass = DriverAccess.current.loaders.reverseIterator
      .flatMap(loader => Try(Class.forName(settings.className, false, loader)).toOption)
      .nextOption()
      .getOrElse(throw invalid("the class is not on the class path"))
    if (!classOf[RequestSigner].isAssignableFrom(signerClass))
      throw invalid(s"it is not an ${classOf[RequestSigner].getName}")
    try signerClass.getDeclaredConstructor().newInstance().asInstanceOf[RequestSigner]
    catch {
      case e @ (_: ReflectiveOperationException | _: LinkageError) =>
        throw invalid(s"it cannot be instantiated (${e.getClass.getSimpleName})")
    }
  }

  private def attempt[A](method: String)(body: => A): A =
    try body
    catch {
      case e: IllegalArgumentException if method == "configure" => throw invalid(mask(String.valueOf(e.getMessage)))
      case NonFatal(e)                                          => throw invalid(s"$method threw ${e.getClass.getName}")
    }

  private def mask(text: String): String =
    settings.settings.values.filter(_.nonEmpty).foldLeft(text)(_.replace(_, Redaction.Mask))

  private def invalid(reason: String): EpochalException =
    Conditions.SignerInvalid("class" -> settings.className, "reason" -> reason)
}
