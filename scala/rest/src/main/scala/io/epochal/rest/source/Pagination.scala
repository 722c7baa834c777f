package io.epochal.rest.source

import java.util.Locale

import org.apache.hc.core5.util.Tokenizer
import org.apache.spark.sql.connector.read.InputPartition

import io.epochal.core.error.{Conditions, EpochalException, Plural}
import io.epochal.kit.record.ScannedPage
import io.epochal.rest.http.{Endpoint, HttpBudget, HttpStatuses, ResponseHead}

/** How records are requested, one page at a time: a [[Pagination]] counts them and can request any page again; a
  * [[ChainedPagination]] learns from each page how to request the next one.
  */
trait Paging extends Serializable {

  /** The value of the option `pagination`. */
  def kind: String
}

/** One request: the response holds `size` records from `first` on, or fewer at the end of the list.
  *
  * @param query
  *   added to the URL's query, already encoded; may be empty
  */
final case class PageRequest(query: String, first: Long, size: Long) {

  /** Describes the request in a message, after "asked". */
  def requestText: String = s"${if (query.isEmpty) "" else s"with $query "}for $recordsText"

  /** Describes the requested records in a message. */
  def recordsText: String =
    if (size == Long.MaxValue) "all records"
    else s"${Plural.of(size, "record")} from record $first on, counted from 0"

  /** One past the last record that the response can hold. */
  def end: Long = if (first > Long.MaxValue - size) Long.MaxValue else first + size
}

/** Records `from` to `until`, exclusive. */
final case class RecordRange(from: Long, until: Long) {
  def records: Long = until - from
}

/** Which request returns which records. Records are counted from 0 in the API's order: any of them can be requested
  * again, and a replay is only as exact as that order.
  *
  * Kinds whose pages are named by the previous page are [[ChainedPagination]]s.
  */
sealed trait Pagination extends Paging {

  /** Maximum records of a response. */
  def pageSize: Long

  /** The request that returns a record: the whole page that contains it. Pages begin at multiples of `pageSize`, so that
    * the same record is always requested by the same URL.
    */
  def request(record: Long): PageRequest

  /** The request that continues at a record after a short page. */
  def continueAt(record: Long): PageRequest = request(record)

  /** The request that shows whether the list ends with a full page, where the server refuses the page after it: by another
    * page size, its page begins within the full one, with the last records of that, and so is short if the list ends there.
    *
    * @param end
    *   number of records up to the end of the full page
    * @return
    *   the pagination of the request, and the first record of its page; None: there is no such request
    */
  def endCheck(end: Long): Option[(Pagination, Long)]

  /** The request that best shows whether records exist from `start` on. If it takes no second request, it also shows
    * whether record `start - 1` still exists. A full page says nothing about the next one, so the record before is not
    * requested then.
    */
  final def probe(start: Long): PageRequest = request(if (start % pageSize == 0) start else start - 1)

  /** At most `partitions` ranges that cover `start` to `end`, split at page boundaries. */
  def split(start: Long, end: Long, partitions: Int): Seq[RecordRange] = {
    val origin = start / pageSize * pageSize
    val pages = (end - origin) / pageSize + (if ((end - origin) % pageSize == 0) 0 else 1)
    val parts = math.min(partitions.toLong, pages).toInt
    def bound(i: Int): Long = {
      val at = BigInt(pages) * i / parts * pageSize + origin
      at.max(BigInt(start)).min(BigInt(end)).toLong
    }
    (0 until parts).map(i => RecordRange(bound(i), bound(i + 1))).filter(_.records > 0)
  }
}

object Pagination {

  /** `none`: one request returns all records. */
  case object Whole extends Pagination {
    override def kind: String = "none"
    override def pageSize: Long = Long.MaxValue
    override def request(record: Long): PageRequest = PageRequest("", 0, pageSize)
    override def endCheck(end: Long): Option[(Pagination, Long)] = None
  }

  /** `offset`: the number of records to skip, and the page size, which is constant. */
  final case class ByOffset(offsetParam: String, limitParam: String, pageSize: Long) extends Pagination {
    private val offset = s"${Endpoint.encode(offsetParam)}="
    private val limit = s"&${Endpoint.encode(limitParam)}=$pageSize"

    override def kind: String = "offset"

    override def request(record: Long): PageRequest = continueAt(record / pageSize * pageSize)

    override def continueAt(record: Long): PageRequest = PageRequest(offset + record + limit, record, pageSize)

    /** By the usual page size, where that begins within the last page. */
    override def endCheck(end: Long): Option[(Pagination, Long)] =
      if (end % pageSize != 0) Some((this, end - 1))
      else {
        val size = checkSize(pageSize, end)
        Some((copy(pageSize = size), end / size * size))
      }
  }

  /** `page`: pages of one size, numbered from `firstPage`. */
  final case class ByPage(pageParam: String, sizeParam: String, firstPage: Long, pageSize: Long) extends Pagination {
    private val number = s"${Endpoint.encode(pageParam)}="
    private val size = s"&${Endpoint.encode(sizeParam)}=$pageSize"

    override def kind: String = "page"

    override def request(record: Long): PageRequest = {
      val page = record / pageSize
      PageRequest(number + (firstPage + page) + size, page * pageSize, pageSize)
    }

    override def endCheck(end: Long): Option[(Pagination, Long)] = {
      val size = checkSize(pageSize, end)
      Some((copy(pageSize = size), end / size * size))
    }
  }

  /** A page size that does not divide the number of records, smaller than the usual one if possible. */
  private def checkSize(pageSize: Long, end: Long): Long =
    ((pageSize - 1 to 2L by -1L).iterator ++ Iterator.iterate(pageSize + 1)(_ + 1)).find(end % _ != 0).get
}

/** Requests that only prove an end. */
private[rest] object EndProof {

  /** @return
    *   the response; None if its status is an error: it is for a page size that the user has never set, so it proves
    *   nothing
    * @throws EpochalException
    *   any other failure, and a transient one
    */
  def of[A](response: => A): Option[A] =
    try Some(response)
    catch {
      case e: EpochalException if e.condition == Conditions.HttpStatus && isFinal(e.values("status").toInt) => None
    }

  private def isFinal(status: Int): Boolean = status != 401 && !HttpStatuses.transient.contains(status)
}

/** Signs that a response is only a part of a list that was requested as a whole. */
private[rest] object WholeList {

  /** @return
    *   the sign, and the pagination that it suggests
    */
  def contradiction(response: ResponseHead, scanned: ScannedPage): Option[NoPage.Incomplete] =
    link(response).orElse(next(scanned)).orElse(more(scanned)).orElse(total(response, scanned))

  private def link(response: ResponseHead): Option[NoPage.Incomplete] =
    LinkHeader
      .find(response.headers("Link"), "next")
      .map(_ => NoPage.Incomplete("its header Link names a next page", "link"))

  private def next(scanned: ScannedPage): Option[NoPage.Incomplete] = scanned.outline.collectFirst {
    case (pointer, Some(text)) if Next(plain(pointer)) && text.nonEmpty && text != "false" =>
      val kind =
        if (text.contains("/") || text.startsWith("?")) "next-url" else if (text.forall(_.isDigit)) "page" else "cursor"
      NoPage.Incomplete(s"it names a next page at '$pointer'", kind)
  }

  private def more(scanned: ScannedPage): Option[NoPage.Incomplete] = scanned.outline.collectFirst {
    case (pointer, Some(text))
        if More(plain(pointer)) && MoreFlag(pointer, trueInLast = false).more(text).contains(true) =>
      NoPage.Incomplete(s"its flag at '$pointer' says that more pages follow", "cursor")
  }

  private def total(response: ResponseHead, scanned: ScannedPage): Option[NoPage.Incomplete] =
    numbers(response, scanned, "X-Total-Count", Total).collectFirst {
      case (place, total) if total > scanned.records =>
        NoPage.Incomplete(s"according to $place the list has $total", "page")
    }

  /** A number in the response to the request for a page without records, according to which the list has records there.
    *
    * @return
    *   worded to follow "0 records, and says"
    */
  def more(response: ResponseHead, scanned: ScannedPage, page: PageRequest): Option[String] = {
    val total = numbers(response, scanned, "X-Total-Count", Total).collectFirst {
      case (place, all) if all > page.first => s"at $place that there are $all in all"
    }
    // An empty list may have one page.
    total.orElse(numbers(response, scanned, "X-Total-Pages", PageCount).collectFirst {
      case (place, pages)
          if pages > 1 && (pages - 1) >= page.first / page.size && (pages - 1) * page.size >= page.first =>
        s"at $place that there are $pages pages"
    })
  }

  /** Numbers in a header or in fields of these names, with their places. */
  private def numbers(
      response: ResponseHead,
      scanned: ScannedPage,
      header: String,
      names: Set[String]): Seq[(String, Long)] = {
    val inHeader = response.header(header).map(s"the header $header" -> _)
    val inBody = scanned.outline.collect {
      case (pointer, Some(text)) if names(plain(pointer)) => s"'$pointer'" -> text
    }
    (inHeader ++ inBody).flatMap { case (place, text) => text.trim.toLongOption.map(place -> _) }.toSeq
  }

  /** Numbers in a response that may be the length of the list. One that equals its number of records counts only where the
    * response is marked as the last page.
    */
  def totals(response: ResponseHead, scanned: ScannedPage): Seq[Long] = {
    val inBody = scanned.outline.collect {
      case (pointer, text) if Total(plain(pointer)) || plain(pointer) == "count" => text
    }
    val isLast = scanned.outline.exists { case (pointer, text) => text.isEmpty && Next(plain(pointer)) }
    (response.header("X-Total-Count") +: inBody).flatten
      .flatMap(_.trim.toLongOption)
      .filter(total => total > scanned.records || isLast && total == scanned.records && total > 0)
  }

  /** The last name of a pointer; of `/_links/next/href` the last but one. Letters only, in lower case. */
  private def plain(pointer: String): String = {
    val names = pointer.split('/').toSeq.map(_.toLowerCase(Locale.ROOT).filter(_.isLetter)).filter(_.nonEmpty)
    names.reverseIterator.find(!Targets(_)).getOrElse("")
  }

  private val Targets = Set("href", "url", "uri")
  private val Next = Set(
    "next",
    "nexturl",
    "nextlink",
    "odatanextlink",
    "nextpage",
    "nextpageurl",
    "nextpagetoken",
    "nexttoken",
    "nextcursor")
  private val More = Set("hasmore", "hasnext", "hasnextpage")
  private val PageCount = Set("pagecount", "totalpages", "numpages", "pagestotal", "lastpage")
  private val Total = Set("total", "totalcount", "totalrecords", "totalitems", "totalresults", "odatacount")
}

/** Finds a link in `Link` headers (RFC 8288, section 3): `<https://h/c?page=2>; rel="next", <…>; rel="last"`. */
private[rest] object LinkHeader {

  /** @param headers
    *   the values of all `Link` headers of a response
    * @param rel
    *   the relation, case-insensitive
    * @return
    *   the target of the first link with that relation, as written: it may be relative
    */
  def find(headers: Seq[String], rel: String): Option[String] =
    headers.iterator.flatMap(links).collectFirst {
      case (target, parameters) if relationsOf(parameters).exists(_.equalsIgnoreCase(rel)) => target
    }

  /** All relations of this page's links.
    *
    * @param headers
    *   the values of all `Link` headers of a response
    */
  def relations(headers: Seq[String]): Seq[String] =
    headers.flatMap(links).flatMap { case (_, parameters) => relationsOf(parameters) }

  /** The relations of a link; none if its context is another resource (`anchor`). */
  private def relationsOf(parameters: Seq[(String, String)]): Seq[String] =
    if (parameters.exists(_._1 == "anchor")) Nil
    else parameters.collectFirst { case ("rel", value) => value }.toSeq.flatMap(_.trim.split("\\s+"))

  /** The links of a header, each with its target and parameters. */
  private def links(header: String): Seq[(String, Seq[(String, String)])] = {
    val at = new Tokenizer.Cursor(0, header.length)
    def skip(c: Char): Boolean = {
      Tokenizer.INSTANCE.skipWhiteSpace(header, at)
      val isNext = !at.atEnd && header.charAt(at.getPos) == c
      if (isNext) at.updatePos(at.getPos + 1)
      isNext
    }
    // A quote within a value does not begin a quoted one.
    def value(): String = {
      Tokenizer.INSTANCE.skipWhiteSpace(header, at)
      if (header.startsWith("\"", at.getPos)) Tokenizer.INSTANCE.parseValue(header, at, ValueEnds)
      else Tokenizer.INSTANCE.parseToken(header, at, ValueEnds)
    }
    def parameter(): (String, String) = {
      val name = Tokenizer.INSTANCE.parseToken(header, at, NameEnds)
      name.toLowerCase(Locale.ROOT) -> (if (skip('=')) value() else "")
    }
    Iterator
      .continually(header.indexOf('<', at.getPos))
      .takeWhile(_ >= 0)
      .map { start =>
        at.updatePos(start + 1)
        val target = Tokenizer.INSTANCE.parseToken(header, at, TargetEnd)
        skip('>'): Unit
        target -> Iterator.continually(skip(';')).takeWhile(identity).map(_ => parameter()).toVector
      }
      .toVector
  }

  private val TargetEnd = Tokenizer.delimiters('>')
  private val NameEnds = Tokenizer.delimiters('=', ';', ',')
  private val ValueEnds = Tokenizer.delimiters(';', ',')
}

/** The records of one task, and its share of the query's budget. */
final private[rest] case class RestPartition(range: RecordRange, share: HttpBudget) extends InputPartition

/** Which records go to which task. Pure: the same offsets always select the same records, on any number of tasks. */
private[rest] object RestPlan {

  def partitions(options: RestOptions, from: Long, until: Long, default: => Int): Array[InputPartition] =
    if (from >= until) Array.empty
    else {
      val budget = options.http.budget
      val ranges = options.pagination.split(from, until, budget.tasks(options.numPartitions.getOrElse(default)))
      ranges.zip(budget.shares(ranges.size)).map { case (range, share) => RestPartition(range, share) }.toArray
    }
}
