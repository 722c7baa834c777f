package io.epochal.ingest.http

import java.util.Locale

import io.epochal.ingest.http.body.Refusal

/** What a request is for, by its method and path. */
sealed private[http] trait RequestTarget

private[http] object RequestTarget {

  /** @param stream
    *   empty: the path names none
    */
  final case class Write(stream: String) extends RequestTarget
  case object Health extends RequestTarget
  case object Metrics extends RequestTarget
  final case class Refused(refusal: Refusal) extends RequestTarget

  /** @param path
    *   decoded
    */
  def of(method: String, path: String): RequestTarget = {
    val verb = method.toUpperCase(Locale.ROOT)
    val name = path.stripPrefix("/")
    name match {
      case "health" | "metrics" =>
        if (Reading(verb)) if (name == "health") Health else Metrics else Refused(notAllowed("GET, HEAD"))
      case Stream() => if (Writing(verb)) Write(name) else Refused(notAllowed("POST, PUT"))
      case _ =>
        Refused(
          Refusal(404, "not_found", s"the path is / or /{stream}, a name of up to $MaxName letters, digits and -._~"))
    }
  }

  private def notAllowed(methods: String) =
    Refusal(405, "method", s"the methods are $methods", headers = Seq("Allow" -> methods))

  private val Reading = Set("GET", "HEAD")
  private val Writing = Set("POST", "PUT")
  private val MaxName = 128
  private val Stream = s"[A-Za-z0-9._~-]{0,$MaxName}".r
}
