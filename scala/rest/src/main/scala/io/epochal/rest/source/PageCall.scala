package io.epochal.rest.source

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Try

import com.fasterxml.jackson.core.io.JsonStringEncoder
import org.apache.hc.core5.http.ContentType

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.option.{OptionGroup, OptionType, OptionValues}
import io.epochal.rest.http.{Endpoint, HttpBody, HttpCall, OptionList}

/** How a page is requested: by GET, or by POST with a body.
  *
  * @param body
  *   of a POST; if it has placeholders, they select the page instead of the URL
  * @param contentType
  *   of that body
  */
final case class PageCall(body: Option[BodyTemplate], contentType: String) {

  /** Whether the URL selects the page. */
  def inUrl: Boolean = body.forall(_.names.isEmpty)

  /** The query that is added to a page's URL. */
  def query(page: PageRequest): String = if (inUrl) page.query else ""

  def of(endpoint: Endpoint, pagination: Pagination, page: PageRequest): HttpCall = {
    val target = endpoint.target(query(page))
    body.fold(HttpCall("GET", target))(post(target, _)(PageCall.value(pagination, page, _).toString))
  }

  /** The request for the page of a token. */
  def of(endpoint: Endpoint, pagination: ChainedPagination, token: Option[String]): HttpCall =
    body.fold(pagination.call(endpoint, token)) { template =>
      val target = if (inUrl) pagination.call(endpoint, token).target else endpoint.target("")
      post(target, template)(place => PageCall.encoded(contentType, pagination.value(token, place)))
    }

  private def post(target: String, template: BodyTemplate)(value: String => String): HttpCall =
    HttpCall("POST", target, Nil, Some(new HttpBody(contentType, template.fill(value))))
}

object PageCall extends OptionList {

  val RequestBody =
    option("requestBody", OptionType.string, secret = true, sample = Some("""{"from": ${offset}, "size": ${limit}}"""))(
      "Body of every request, then a POST, which must change nothing on the server. Placeholders replace the paging parameters: ${offset}, ${limit} (pagination=offset), ${page}, ${pageSize} (pagination=page), ${cursor} (pagination=cursor, keyset), ${windowFrom}, ${windowTo} (pagination=time-window). Unset: GET.")

  /** The default content type of a body. */
  private[rest] val Json = "application/json"

  /** Escapes a text for JSON or a form, by content type. */
  private[rest] def encoded(contentType: String, text: String): String =
    if (contentType.contains("json")) new String(JsonStringEncoder.getInstance().quoteAsString(text))
    else if (contentType.startsWith("application/x-www-form-urlencoded")) Endpoint.encode(text)
    else text

  private[rest] def read(
      values: OptionValues,
      pagination: Paging,
      headers: Map[String, String]
  ): Either[EpochalException, PageCall] = {
    val body = values.get(RequestBody).map(new BodyTemplate(_))
    val contentType = headers.collectFirst { case (name, kind) if name.equalsIgnoreCase("Content-Type") => kind }
    val names = body.fold(Seq.empty[String])(_.names)
    val (needed, possible) = places(pagination)
    val unknown = names.filterNot((needed ++ possible).contains(_))
    val fixed = names.isEmpty && !needed.contains("cursor")
    val byAddress = pagination match {
      case windows: TimeWindow => windows.within.isInstanceOf[ChainedPagination.ByAddress]
      case other               => other.isInstanceOf[ChainedPagination.ByAddress]
    }
    val missing = if (body.isEmpty || fixed) Nil else needed.filterNot(names.contains(_))
    for {
      _ <- values.consistent(body.isEmpty || !byAddress)(
        s"{option:pagination=${pagination.kind}}, {option:requestBody}",
        "Leave {option:requestBody} out: pages that are named by their URL are requested with GET.")
      _ <- ensure(contentType.forall(kind => Try(ContentType.parse(kind)).toOption.exists(_ != null)))(
        OptionGroup.invalid(
          RestOptions.Format,
          "headers.Content-Type",
          Redaction.Mask,
          "a media type with a character set that this JVM knows",
          "headers.Content-Type=application/json"))
      _ <- ensure(unknown.isEmpty)(
        conflict(pagination, s"${shown(unknown)} in {option:requestBody}", needed ++ possible))
      _ <- ensure(missing.isEmpty)(conflict(pagination, s"{option:requestBody} without ${shown(missing)}", needed))
    } yield PageCall(body, contentType.getOrElse(Json))
  }

  /** The required placeholders, if there is any placeholder, and the optional ones. */
  private def places(pagination: Paging): (Seq[String], Seq[String]) = pagination match {
    case windows: TimeWindow =>
      val (needed, possible) = places(windows.within)
      (Seq("windowFrom", "windowTo") ++ needed, possible)
    case counted: CountedPages  => places(counted.counted)
    case _: Pagination.ByOffset => (Seq("offset", "limit"), Nil)
    case _: Pagination.ByPage   => (Seq("page"), Seq("pageSize"))
    case _: ChainedPagination   => (Seq("cursor"), Nil)
    case _                      => (Nil, Nil)
  }

  private[source] def value(pagination: Pagination, page: PageRequest, place: String): Long =
    (pagination, place) match {
      case (_, "offset")                   => page.first
      case (_, "limit")                    => page.size
      case (by: Pagination.ByPage, "page") => by.firstPage + page.first / page.size
      case (_, "pageSize")                 => page.size
      case _ => throw new IllegalArgumentException(s"no value for $place under pagination=${pagination.kind}")
    }

  private def shown(names: Seq[String]): String = names.map(name => s"$${$name}").mkString(", ")

  private def conflict(pagination: Paging, options: String, places: Seq[String]): EpochalException =
    RestOptions.group.conflict(
      s"{option:pagination=${pagination.kind}}, $options",
      if (places.isEmpty) "Take it out: every request has the same body."
      else s"A body that selects the page has ${shown(places)}.")
}

/** The body of a request, with placeholders such as `${offset}` that select the page. Prints without its text.
  *
  * @param names
  *   the placeholders, in their order
  */
final class BodyTemplate(text: String) extends Serializable {
  private val Place = """\$\{([A-Za-z]+)}""".r

  val names: Seq[String] = Place.findAllMatchIn(text).map(_.group(1)).toSeq.distinct

  /** The body with its placeholders replaced. */
  def fill(value: String => String): Array[Byte] =
    Place.replaceAllIn(text, place => java.util.regex.Matcher.quoteReplacement(value(place.group(1)))).getBytes(UTF_8)

  override def toString: String = s"BodyTemplate(${names.mkString(", ")})"
}
