package io.epochal.rest.source

import java.time.Instant
import java.util.Locale

import scala.annotation.unused

import io.epochal.kit.record.ScannedPage
import io.epochal.rest.http.{Endpoint, HttpCall, HttpFailure}

/** A pagination in which each response names the next page: by a token, a text that is stored in the offset. None is
  * the token of the first page.
  *
  * Each page is requested once and journalled, because its token may expire and its records may change.
  */
trait ChainedPagination extends Paging {
  override def asChain: ChainedPagination = this
  override def placeholders: Seq[String] = Seq("cursor")

  /** The flag in a response that decides whether a page follows; None: the token decides. */
  def flag: Option[MoreFlag]

  /** JSON Pointers to the next page's token or address in a response, if it is in the body. */
  def places: Seq[String] = Nil

  /** JSON Pointers to all values needed from a response, outside of its records. */
  def pointers: Seq[String] = flag.map(_.pointer).toSeq ++ places

  /** The pointers whose values are needed as JSON. */
  def json: Set[String] = Set.empty

  /** JSON Pointer within a record to its key, if the key of the last record is the next token. */
  def key: Option[String] = None

  /** Whether a header of a response names the next page. */
  def byHeader: Boolean = false

  /** Whether the token is a value of its own in the response, which the last page may lack. False if it is derived from
    * the records.
    */
  def hasNextName: Boolean = false

  def call(endpoint: Endpoint, token: Option[String]): HttpCall

  /** The next token as the response states it, without regard to `flag`. Right(None) only if the response states that
    * no page follows: a missing token is a [[NoPage.Absent]]. Callers use [[follows]].
    */
  private[rest] def next(response: PageResponse): ChainedPagination.Next

  /** Whether an earlier page of the same list had a next token. If so, a page without one is the last. */
  private[rest] def continues(token: Option[String]): Boolean = token.nonEmpty

  /** Number of records at the front of a page that are before its token's position, and are skipped: a numbered page
    * begins where the server's page does.
    */
  private[rest] def before(@unused token: Option[String]): Long = 0L

  /** Whether the page may be past the end of the list: a page that is found by counting, after the first. */
  private[rest] def mayBePastEnd(@unused token: Option[String]): Boolean = false

  /** Time windows that end later are not requested at this moment. */
  def latest(now: Instant): Instant = now

  /** The same list up to a moment, for a batch read. */
  def endingAt(@unused end: Instant): ChainedPagination = this

  /** The request for a page, if pages are counted. */
  private[rest] def countedRequest(@unused token: Option[String]): Option[PageRequest] = None

  /** How to prove that the list ends before the page of a token that may be past the end; None: there is no way. */
  private[rest] def endCheck(@unused token: Option[String]): Option[EndCheck] = None

  /** The value of a placeholder in the body of the request for a page. */
  private[source] def value(@unused token: Option[String], place: String): String =
    throw new IllegalArgumentException(s"no value for $place under pagination=$kind")

  /** Identifies a page, for loop detection: the same page has the same text. */
  def page(endpoint: Endpoint, token: Option[String]): String

  /** Describes the page of a token in a message. */
  private[rest] def describe(token: Option[String]): String = if (token.isEmpty) "the first page" else "the next page"

  /** The token of the next page; Right(None): the list ends here. The flag takes precedence over the token.
    *
    * The end requires evidence: the flag, a null or empty token, a page without records that names no other or where
    * `emptyEnds` holds, or a missing token where `absentEnds` holds. Otherwise a missing token is a [[NoPage.Absent]]. A contradiction between flag and token, and
    * a token that is too long, are a [[NoPage.Mismatch]].
    */
  final private[rest] def follows(response: PageResponse): ChainedPagination.Next =
    if (response.emptyEnds && hasNextName && response.scanResult.records == 0) Right(None) else resolve(response)

  private def resolve(response: PageResponse): ChainedPagination.Next = {
    val nextToken = next(response) match {
      case Left(_: NoPage.Absent) if response.absentEnds || response.scanResult.records == 0 => Right(None)
      case other                                                                             => other
    }
    flag.fold(nextToken)(applyFlag(_, nextToken, response.scanResult)).flatMap {
      case Some(token) if token.length > ChainedPagination.LongestToken =>
        val limit = s"more than the maximum of ${ChainedPagination.LongestToken}"
        Left(NoPage.Mismatch(s"what names the next page in ${token.length} characters, $limit"))
      case other => Right(other)
    }
  }

  private def applyFlag(
      flag: MoreFlag,
      nextToken: ChainedPagination.Next,
      scanResult: ScannedPage): ChainedPagination.Next = {
    def mismatch(problem: String) = Left(NoPage.Mismatch(problem))
    val flagText = scanResult.values.get(flag.pointer).flatten
    def value = flagText.fold("")(HttpFailure.excerpt)
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

object ChainedPagination {

  /** The token of the next page; None: no page follows. Left: why it cannot be followed. */
  private[rest] type Next = Either[NoPage, Option[String]]

  /** Maximum length of a token, in characters. Servers do not accept so much in a request line, and offsets store it.
    */
  private val LongestToken = 64 << 10

  /** The place of a cursor in a response. */
  sealed trait CursorFrom

  final case class InBody(parts: Seq[String]) extends CursorFrom
  final case class InHeader(name: String) extends CursorFrom

  /** The key of the last record, or of the first one where newer records come first: the next page is beyond it. */
  final case class InRecord(pointer: String, isFirst: Boolean) extends CursorFrom

  /** The place of a cursor in a request. */
  sealed trait CursorTo
  final case class AsParameter(name: String) extends CursorTo
  final case class AsHeader(name: String) extends CursorTo

  /** A placeholder in the request's body, which [[PageCall]] replaces.
    *
    * @param asJson
    *   whether tokens are JSON
    */
  final case class InRequestBody(asJson: Boolean) extends CursorTo

  private val ConnectionEnd = "/pageInfo/endCursor"

  /** `graphql`: the cursor of a connection's last page (GraphQL Cursor Connections). */
  def ofConnection(connection: String): ByCursor = ByCursor(
    InBody(Seq(connection + ConnectionEnd)),
    InRequestBody(asJson = true),
    Some("null"),
    Some(MoreFlag(s"$connection/pageInfo/hasNextPage", trueInLast = false)),
    "graphql")

  /** `cursor`: the next request sends the token of the response. `keyset`: it sends the key of the last record.
    *
    * @param first
    *   the cursor or key that the request for the first page sends, if any
    */
  final case class ByCursor(
      from: CursorFrom,
      to: CursorTo,
      first: Option[String],
      flag: Option[MoreFlag],
      kind: String = "cursor")
      extends ChainedPagination {

    override def parameters: Seq[String] = Some(to).collect { case AsParameter(name) => name }.toSeq

    override def identity: Option[String] =
      if (kind == "graphql") places.headOption.map(at => s"connection=${at.stripSuffix(ConnectionEnd)}")
      else first.map(text => s"firstCursor=$text")

    override def key: Option[String] = Some(from).collect { case InRecord(pointer, _) => pointer }

    override def byHeader: Boolean = from.isInstanceOf[InHeader]

    override def hasNextName: Boolean = key.isEmpty

    override def places: Seq[String] = from match {
      case InBody(pointers) => pointers
      case _                => Nil
    }

    override def json: Set[String] = to match {
      case InRequestBody(true) => places.toSet ++ key
      case _                   => Set.empty
    }

    override def call(endpoint: Endpoint, token: Option[String]): HttpCall = (to, token.orElse(first)) match {
      case (_, None) => HttpCall("GET", endpoint.target(""))
      case (AsParameter(name), Some(text)) =>
        HttpCall("GET", endpoint.target(s"${Endpoint.encode(name)}=${Endpoint.encode(text)}"))
      case (AsHeader(name), Some(text)) => HttpCall("GET", endpoint.target(""), Seq(name -> text))
      case (InRequestBody(_), _)        => HttpCall("POST", endpoint.target(""))
    }

    override private[source] def value(token: Option[String], place: String): String = token.orElse(first).getOrElse("")

    override private[rest] def next(response: PageResponse): Next = {
      val token = from match {
        case InBody(Seq(pointer)) => part(pointer, response.scanResult)
        case InBody(pointers)     => parts(pointers, response.scanResult)
        case InHeader(name) =>
          response.head.header(name).toRight(NoPage.Absent(s"the header $name", "nextCursorHeader")).map(Some(_))
        case InRecord(pointer, isFirst) => key(pointer, isFirst, response.token, response.scanResult)
      }
      token.map(_.filter(_.nonEmpty)).flatMap {
        case Some(text) if to.isInstanceOf[AsHeader] && !printable(text) =>
          Left(
            NoPage.Mismatch(
              "a cursor that cannot be sent in a header, since it has other characters than printable ASCII"))
        case other => Right(other)
      }
    }

    override def page(endpoint: Endpoint, token: Option[String]): String = token.orElse(first).getOrElse("")

    override private[rest] def describe(token: Option[String]): String = token.orElse(first) match {
      case None => "the first page"
      case Some(text) =>
        s"the records after the ${if (kind == "keyset") "key" else "cursor"} '${HttpFailure.excerpt(text)}'"
    }

    private def part(pointer: String, scanResult: ScannedPage): Next =
      text(pointer, if (kind == "graphql") "connection" else "nextCursor", scanResult).map(_.filter(_ != "\"\""))

    /** Either all parts of a cursor end the list, or none. */
    private def parts(pointers: Seq[String], scanResult: ScannedPage): Next = {
      val all = pointers.map(part(_, scanResult))
      val texts = all.collect { case Right(Some(json)) => json }
      if (texts.size == all.size) Right(Some(texts.mkString("[", ",", "]")))
      else if (texts.isEmpty) all.find(_.isLeft).getOrElse(Right(None))
      else Left(NoPage.Mismatch(s"only ${texts.size} of the ${all.size} parts of the next cursor"))
    }

    /** The key of a record. Rejects an API whose page ends with the requested key: its record would be delivered twice. */
    private def key(pointer: String, isFirst: Boolean, token: Option[String], scanResult: ScannedPage): Next = {
      val names = if (isFirst) Seq("last", "first") else Seq("first", "last")
      scanResult.keys.map(ends => if (isFirst) ends.swap else ends) match {
        case None => Right(None)
        case Some((Some(key), _)) if token.orElse(first).contains(key) =>
          val keyText = HttpFailure.excerpt(key)
          Left(NoPage.Mismatch(s"the ${names.head} of them with the key '$keyText' that the request excludes"))
        case Some((_, Some(key))) => Right(Some(key))
        case Some((_, None))      => Left(NoPage.Mismatch(s"the ${names.last} of them with no value at '$pointer'"))
      }
    }
  }

  /** A pagination whose responses contain the address of the next page. The token is this address, as [[PageUrl]]
    * stores it.
    */
  sealed trait ByAddress extends ChainedPagination {
    override def isByAddress: Boolean = true

    override def hasNextName: Boolean = true

    /** The address as it is in the response, absolute or relative. */
    private[rest] def address(response: PageResponse): Next

    override def call(endpoint: Endpoint, token: Option[String]): HttpCall =
      HttpCall("GET", token.fold(endpoint.target(""))(PageUrl.open(endpoint, _)))

    override private[rest] def next(response: PageResponse): Next =
      address(response).map(_.map(_.trim).filter(_.nonEmpty)).flatMap {
        case Some(url) => PageUrl.of(response.endpoint, response.answer.target, url).map(Some(_))
        case None      => Right(None)
      }

    override def page(endpoint: Endpoint, token: Option[String]): String =
      token.getOrElse(PageUrl.storableForm(endpoint, endpoint.target("")))
  }

  /** `link`: a `Link` header (RFC 8288). */
  final case class ByLink(rel: String, flag: Option[MoreFlag]) extends ByAddress {
    override def kind: String = "link"
    override def byHeader: Boolean = true

    override private[rest] def address(response: PageResponse): Next = {
      val links = response.head.headers("Link")
      LinkHeader.find(links, rel) match {
        case None if !isLastPage(LinkHeader.relations(links).map(_.toLowerCase(Locale.ROOT))) =>
          Left(NoPage.Absent(s"the header Link with rel=$rel", "linkRel"))
        case other => Right(other)
      }
    }

    /** Whether a response without the link is the last page: it links to other pages of the list but to no next. */
    private def isLastPage(relations: Seq[String]): Boolean =
      relations.exists(ChainedPagination.OtherPages) && !relations.exists(_.contains("next"))
  }

  /** `next-url`: a URL in the body. */
  final case class ByNextUrl(pointer: String, flag: Option[MoreFlag]) extends ByAddress {
    override def kind: String = "next-url"
    override def places: Seq[String] = Seq(pointer)

    override private[rest] def address(response: PageResponse): Next = text(pointer, "nextUrl", response.scanResult)
  }

  /** Relations of links to other pages of the same list (RFC 8288, RFC 5005), except the next. */
  private val OtherPages = Set("first", "last", "prev", "previous")

  /** The text at a pointer; Right(None) for null and `false`, which state that no page follows. */
  private def text(pointer: String, option: String, scanResult: ScannedPage): Next =
    scanResult.values.get(pointer) match {
      case Some(None)          => Left(NoPage.Mismatch(s"an object or an array at '$pointer', and not a text"))
      case Some(Some("false")) => Right(None)
      case None if !scanResult.nulls(pointer) => Left(NoPage.Absent(s"'$pointer'", option))
      case other                              => Right(other.flatten)
    }

  private def printable(text: String) = text.forall(c => c >= ' ' && c <= '~')
}
