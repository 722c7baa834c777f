package io.epochal.rest.source.paging

import java.util.Locale

import scala.annotation.unused

import io.epochal.kit.record.ScannedPage
import io.epochal.rest.http.request.{Endpoint, HttpCall, HttpFailure, ResponseHead}

/** Where a response names the next page, and how that page is requested. The name is a token, a text that the offset
  * contains. The first page has none.
  *
  * Each response is requested once and journalled: a token may expire, and its page may change.
  */
trait ChainedPagination extends Paging {

  /** The flag that decides whether a page follows. */
  def flag: Option[MoreFlag]

  /** JSON Pointer to the next page's name in a response. */
  def place: Option[String] = None

  /** JSON Pointers to everything needed from a response. */
  def pointers: Seq[String] = flag.map(_.pointer).toSeq ++ place

  /** JSON Pointer to the value needed from the last record. */
  def key: Option[String] = None

  /** Whether a header of a response names the next page. */
  def byHeader: Boolean = false

  /** Whether each page names the next one by a separate value, which may be absent from the last page. */
  def hasNextName: Boolean = false

  /** The request for a page. */
  def call(endpoint: Endpoint, token: Option[String]): HttpCall

  /** The token of the next page, if the response names one, else why it cannot be followed; None only if the response
    * states that no page follows.
    */
  private[rest] def next(response: PageResponse): ChainedPagination.Next

  /** Whether an earlier page of the same list named the one with this token. */
  private[rest] def continues(token: Option[String]): Boolean = token.nonEmpty

  /** Number of records at the front of a page that belong to the previous one: counted pages begin where the server's
    * pages do.
    */
  private[rest] def before(@unused token: Option[String]): Long = 0L

  /** Identifies a page: equal texts, same page. */
  def page(endpoint: Endpoint, token: Option[String]): String

  /** Describes the page of a token in a message. */
  private[rest] def describe(token: Option[String]): String = if (token.isEmpty) "the first page" else "the next page"

  /** The token of the next page, if there is one; the flag takes precedence over the token. The end requires evidence:
    * the flag, null or an empty text in the token's place, a page without records, or the absence of a value that an
    * earlier page of the list had.
    */
  final private[rest] def follows(response: PageResponse): ChainedPagination.Next = {
    val nextToken = next(response) match {
      case Left(_: NoPage.Absent) if response.absentEnds || response.scanned.records == 0 => Right(None)
      case found                                                                          => found
    }
    flag.fold(nextToken)(flagged(_, nextToken, response.scanned)).flatMap {
      case Some(token) if token.length > ChainedPagination.LongestToken =>
        val limit = s"more than the maximum of ${ChainedPagination.LongestToken}"
        Left(NoPage.Mismatch(s"what names the next page in ${token.length} characters, $limit"))
      case found => Right(found)
    }
  }

  private def flagged(
      flag: MoreFlag,
      nextToken: ChainedPagination.Next,
      scanned: ScannedPage): ChainedPagination.Next = {
    def mismatch(found: String) = Left(NoPage.Mismatch(found))
    val flagText = scanned.values.get(flag.pointer).flatten
    def value = flagText.fold("")(HttpFailure.shown)
    (flagText.map(flag.more), nextToken) match {
      case (_, Left(wrong)) if !wrong.isInstanceOf[NoPage.Absent] => Left(wrong)
      case (Some(Some(true)), Right(Some(token)))                 => Right(Some(token))
      case (Some(Some(true)), _) =>
        mismatch(s"'$value' at '${flag.pointer}', which says that a page follows, but no next page")
      case (Some(Some(false)), _) => Right(None)
      case (None, Right(None))    => Right(None)
      case (None, Right(Some(_))) => mismatch(s"a next page, but no flag at '${flag.pointer}'")
      case (None, Left(absent))   => Left(absent)
      case (Some(None), _)        => mismatch(s"'$value' at '${flag.pointer}', which is no flag (true, false, 1 or 0)")
    }
  }
}

/** The response to the request for a page.
  *
  * @param endpoint
  *   of the request, with the parameters that all pages of its list have
  * @param token
  *   of the page
  * @param target
  *   of the request
  * @param absentEnds
  *   whether a response without the next page's name is the last one: an earlier page of this list had one, or the
  *   options say so
  * @param scanned
  *   the values at the pointers and the key
  */
final private[rest] case class PageResponse(
    endpoint: Endpoint,
    token: Option[String],
    target: String,
    absentEnds: Boolean,
    head: ResponseHead,
    scanned: ScannedPage)

/** A flag in a response that says whether a page follows.
  *
  * @param pointer
  *   JSON Pointer to it
  * @param trueInLast
  *   whether it is true on the last page only
  */
final case class MoreFlag(pointer: String, trueInLast: Boolean) {

  /** None: the value is not a flag. */
  def more(value: String): Option[Boolean] = value.toLowerCase(Locale.ROOT) match {
    case "true" | "1"  => Some(!trueInLast)
    case "false" | "0" => Some(trueInLast)
    case _             => None
  }
}

/** Why a response's next page cannot be followed. */
sealed private[rest] trait NoPage

private[rest] object NoPage {

  /** The response contradicts the options.
    *
    * @param found
    *   the contradiction
    */
  final case class Mismatch(found: String) extends NoPage

  /** The name of the next page is absent: neither null nor empty.
    *
    * @param place
    *   where it was expected
    * @param option
    *   the option that defines that place
    */
  final case class Absent(place: String, option: String) extends NoPage

  /** The response is one of several pages, but was expected to have all records.
    *
    * @param pagination
    *   the kind that it suggests
    */
  final case class Incomplete(reason: String, pagination: String) extends NoPage

  /** The link must not be followed.
    *
    * @param link
    *   the part of it that may be shown
    */
  final case class Refused(link: String, reason: String) extends NoPage
}

object ChainedPagination {

  /** The token of the next page; None: no page follows. Left: why it cannot be followed. */
  private[rest] type Next = Either[NoPage, Option[String]]

  /** Maximum length of a token, which is sent back and stored in offsets: more than servers accept in a request line.
    */
  private val LongestToken = 64 << 10

  /** The place of a cursor in a response. */
  sealed trait CursorFrom
  final case class InBody(pointer: String) extends CursorFrom
  final case class InHeader(name: String) extends CursorFrom

  /** The last record's key: the next page has the records with greater keys. */
  final case class InLastRecord(pointer: String) extends CursorFrom

  /** The place of a cursor in a request. */
  sealed trait CursorTo
  final case class AsParameter(name: String) extends CursorTo
  final case class AsHeader(name: String) extends CursorTo

  /** A placeholder in the request's body, filled in by [[PageCall]]. */
  case object InRequestBody extends CursorTo

  /** `cursor`: the response's token is sent in the next request. `keyset`: the last record's key is sent.
    *
    * @param first
    *   the token of the first page, if it has one
    */
  final case class ByCursor(from: CursorFrom, to: CursorTo, first: Option[String], flag: Option[MoreFlag])
      extends ChainedPagination {

    override def kind: String = if (key.isEmpty) "cursor" else "keyset"

    override def key: Option[String] = Some(from).collect { case InLastRecord(pointer) => pointer }

    override def byHeader: Boolean = from.isInstanceOf[InHeader]

    override def hasNextName: Boolean = key.isEmpty

    override def place: Option[String] = Some(from).collect { case InBody(pointer) => pointer }

    override def call(endpoint: Endpoint, token: Option[String]): HttpCall = (to, token.orElse(first)) match {
      case (_, None) => HttpCall("GET", endpoint.target(""))
      case (AsParameter(name), Some(text)) =>
        HttpCall("GET", endpoint.target(s"${Endpoint.encode(name)}=${Endpoint.encode(text)}"))
      case (AsHeader(name), Some(text)) => HttpCall("GET", endpoint.target(""), Seq(name -> text))
      case (InRequestBody, _)           => HttpCall("POST", endpoint.target(""))
    }

    override private[rest] def next(response: PageResponse): Next = {
      val token = from match {
        case InBody(pointer) => text(pointer, "nextCursor", response.scanned)
        case InHeader(name) =>
          response.head.header(name).toRight(NoPage.Absent(s"the header $name", "nextCursorHeader")).map(Some(_))
        case InLastRecord(pointer) => lastKey(pointer, response.token, response.scanned)
      }
      token.map(_.filter(_.nonEmpty)).flatMap {
        case Some(text) if to.isInstanceOf[AsHeader] && !printable(text) =>
          Left(
            NoPage.Mismatch(
              "a cursor that cannot be sent in a header, since it has other characters than printable ASCII"))
        case found => Right(found)
      }
    }

    override def page(endpoint: Endpoint, token: Option[String]): String = token.orElse(first).getOrElse("")

    override private[rest] def describe(token: Option[String]): String = token.orElse(first) match {
      case None       => "the first page"
      case Some(text) => s"the records after the ${if (key.isEmpty) "cursor" else "key"} '${HttpFailure.shown(text)}'"
    }

    /** Rejects an API that begins with the key itself instead of after it, which would return that record twice. */
    private def lastKey(pointer: String, token: Option[String], scanned: ScannedPage): Next =
      scanned.keys match {
        case None => Right(None)
        case Some((Some(key), _)) if token.orElse(first).contains(key) =>
          Left(NoPage.Mismatch(s"the first of them with the key '${HttpFailure.shown(key)}' that the request excludes"))
        case Some((_, Some(key))) => Right(Some(key))
        case Some((_, None))      => Left(NoPage.Mismatch(s"the last of them with no value at '$pointer'"))
      }
  }

  /** A pagination whose responses contain the next page's address. A token is a [[PageUrl]]. */
  sealed trait ByAddress extends ChainedPagination {

    override def hasNextName: Boolean = true

    /** The address as written in the response. */
    private[rest] def address(response: PageResponse): Next

    override def call(endpoint: Endpoint, token: Option[String]): HttpCall =
      HttpCall("GET", token.fold(endpoint.target(""))(PageUrl.open(endpoint, _)))

    override private[rest] def next(response: PageResponse): Next =
      address(response).map(_.map(_.trim).filter(_.nonEmpty)).flatMap {
        case Some(url) => PageUrl.of(response.endpoint, response.target, url).map(Some(_))
        case None      => Right(None)
      }

    override def page(endpoint: Endpoint, token: Option[String]): String =
      token.getOrElse(PageUrl.closed(endpoint, endpoint.target("")))
  }

  /** `link`: a `Link` header (RFC 8288). */
  final case class ByLink(rel: String, flag: Option[MoreFlag]) extends ByAddress {
    override def kind: String = "link"
    override def byHeader: Boolean = true

    override private[rest] def address(response: PageResponse): Next = {
      val links = response.head.headers("Link")
      LinkHeader.find(links, rel) match {
        case None if !ended(LinkHeader.relations(links).map(_.toLowerCase(Locale.ROOT))) =>
          Left(NoPage.Absent(s"the header Link with rel=$rel", "linkRel"))
        case found => Right(found)
      }
    }

    /** Whether links to other pages of the list exist, and none that continues it under another name. */
    private def ended(relations: Seq[String]): Boolean =
      relations.exists(ChainedPagination.OtherPages) && !relations.exists(_.contains("next"))
  }

  /** `next-url`: a URL in the body. */
  final case class ByNextUrl(pointer: String, flag: Option[MoreFlag]) extends ByAddress {
    override def kind: String = "next-url"
    override def place: Option[String] = Some(pointer)

    override private[rest] def address(response: PageResponse): Next = text(pointer, "nextUrl", response.scanned)
  }

  /** Relations of links within a list (RFC 8288, RFC 5005). */
  private val OtherPages = Set("first", "last", "prev", "previous")

  private def text(pointer: String, option: String, scanned: ScannedPage): Next =
    scanned.values.get(pointer) match {
      case Some(None)          => Left(NoPage.Mismatch(s"an object or an array at '$pointer', and not a text"))
      case Some(Some("false")) => Right(None)
      case None if !scanned.nulls(pointer) => Left(NoPage.Absent(s"'$pointer'", option))
      case other                           => Right(other.flatten)
    }

  private def printable(text: String): Boolean = text.forall(c => c >= ' ' && c <= '~')
}
