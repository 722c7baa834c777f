package io.epochal.rest.source

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util.Locale

import scala.util.Using

import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, Plural}
import io.epochal.kit.record.{Body, RecordBlock, ScannedPage}
import io.epochal.rest.http.{HttpClient, Refusal, ResponseHead, Revalidation, Validator}

/** Pages in order, each requested once the previous page has named it. Not thread-safe. */
private[rest] trait Chain {

  /** The last page; the caller closes it. */
  def page: Page

  /** The page to request next: at the end, the last page again. */
  def next: NextPage

  /** Whether no page follows the last one at present. */
  def atEnd: Boolean

  /** Whether polls end by themselves, regardless of empty pages. */
  def bounded: Boolean

  /** Begins a poll.
    *
    * @param again
    *   whether it continues the previous poll: their pages count together against `maxPages`
    * @return
    *   false: there is nothing to request
    */
  def beginPoll(again: Boolean = false): Boolean

  /** Requests the next page.
    *
    * @param each
    *   receives its new records, in one or several blocks
    * @return
    *   the number of those records
    * @throws EpochalException
    *   TOO_MANY_PAGES, TOO_MANY_EMPTY_PAGES, PAGINATION_LOOP, PAGINATION_MISMATCH, PAGE_REFUSED, LINK_REFUSED, or one of
    *   the HTTP conditions; the chain's position is unchanged then
    */
  def nextPage(each: RecordBlock => Unit): Int
}

/** Follows pages that each name the next one. Not thread-safe.
  *
  * @param start
  *   the page to begin with
  * @param lost
  *   called for a page that has fewer records than were taken from it: its current and its previous number of records
  * @param maxEmpty
  *   maximum pages without records in a row, after which the chain fails
  * @param unless
  *   the validator of that page, if all its records were taken and it was the last one: it may not have changed since
  * @param contacted
  *   whether the server has responded to an earlier chain
  * @param endedBefore
  *   whether an earlier chain has found the end of this list: a page without a next one is then the last
  */
final private[rest] class PageChain(
    options: RestOptions,
    pagination: ChainedPagination,
    client: HttpClient,
    start: NextPage,
    lost: (Int, Long) => Unit,
    maxEmpty: Int,
    unless: Option[Validator] = None,
    contacted: Boolean = false,
    endedBefore: Boolean = false
) extends Chain {
  final private val PollsBelieved = 15

  import options.endpoint

  private val scan = options.scan(pagination.pointers, pagination.key, pagination.json)
  private lazy val guard = {
    val visited = new LoopGuard
    visited.visit(pagination.page(endpoint, start.token)): Unit
    visited
  }
  private var at = start
  private var ended = unless.nonEmpty
  private var reached = contacted
  private val validators = new Revalidation[Option[String], (ScannedPage, Option[String])](options.revalidates)
  private var believed = 0
  private var pagesRead = 0
  private var emptyPages = 0

  /** Number of records of the page before; None: unknown. */
  private var before = Option.empty[Int]

  /** Digest of the latest records, where a page that names itself is the last one. */
  private var content = Option.empty[Long]
  unless.foreach(validators.keep(start.token, _, (ScannedPage(records = start.taken.toInt), None)))

  override val page = new Page

  override def next: NextPage = at

  override def atEnd: Boolean = ended

  override def bounded: Boolean = false

  /** The validator of the last page, if no page follows it. */
  def validator: Option[Validator] = if (ended) validators.validator(at.token) else None

  /** Always true: the last page may have grown. */
  override def beginPoll(again: Boolean): Boolean = {
    if (!again) recount()
    true
  }

  /** Restarts the count of pages that `maxPages` and `maxEmpty` limit. */
  def recount(): Unit = {
    pagesRead = 0
    emptyPages = 0
  }

  @scala.annotation.tailrec
  override def nextPage(each: RecordBlock => Unit): Int = {
    if (pagesRead >= options.maxPages) throw Conditions.TooManyPages("url" -> endpoint, "pages" -> pagesRead)
    val call = options.pageCall.of(endpoint, pagination, at.token)
    val absentEnds = options.endAssumed || endedBefore || pagination.continues(at.token)
    def response(head: ResponseHead, scanned: ScannedPage) =
      PageResponse(endpoint, at.token, call.target, absentEnds, head, scanned, options.emptyEnds, isOther(scanned))
    val skip = math.max(at.taken, pagination.before(at.token))
    val endAfter = if (pagination.mayBePastEnd(at.token)) 1 else 0
    var mistaken = false
    var refusal = Option.empty[Refusal]
    val (scanned, follows) = client.call(call.copy(unless = known, endAfter = endAfter), page.body, !reached) { head =>
      mistaken = namesNext(response(head, ScannedPage.nothing))
      refusal = head.refusal
      page.received(head, PageUrl.shown(endpoint, options.own, call.target), options)
      validators.read(at.token, head) {
        val scanned = scan.read(page.body, skip)
        (scanned, followed(response(head, scanned)))
      }
    }
    reached = true
    refusal.filterNot(_ => isPastEnd).foreach(one => throw options.refused(s"for ${describe(at.token)}", one))
    if (mistaken) {
      validators.forget(at.token)
      nextPage(each)
    } else {
      pagesRead += 1
      val fresh = math.max(0L, scanned.records - skip).toInt
      moved(scanned.records, fresh, follows, isOther(scanned))
      before = Some(scanned.records)
      if (fresh > 0 && options.repeatEnds) content = Some(digest(scanned))
      if (fresh > 0) scan.blocks(scanned, page.body).foreach(each)
      fresh
    }
  }

  /** Whether a page that names itself as the next one may be the last one: if its records are those of the page before,
    * the server ignores the parameter for the page.
    */
  private def isOther(scanned: ScannedPage): Boolean =
    options.repeatEnds && (content.isEmpty || scanned.records > 0 && !content.contains(digest(scanned)))

  private def digest(scanned: ScannedPage): Long = PageDigest.of(scan.blocks(scanned, page.body))

  /** Whether the list is proven to end before the next page, which the server refuses. */
  private def isPastEnd: Boolean = pagination.endCheck(at.token).exists { check =>
    check.before.exists { case (token, size) =>
      before.map(_.toLong).orElse(records(pagination, token)).exists(_ < size)
    } ||
    records(check.pagination, check.token).contains(check.records)
  }

  /** The number of records of a page; None if the server refuses it, with whatever status. */
  private def records(pagination: ChainedPagination, token: Option[String]): Option[Long] =
    Using.resource(Body.ofPage()) { body =>
      EndProof.of {
        client.call(options.pageCall.of(endpoint, pagination, token).copy(endAfter = 1), body) { head =>
          Option.when(head.refusal.isEmpty)(scan.read(body).records.toLong)
        }
      }.flatten
    }

  /** The validator for a conditional request of the last page. If a header names the next page, it may appear without a
    * change of the body's ETag, so only a limited number of polls in a row are conditional.
    */
  private def known: Option[Validator] = {
    val asking = ended && (!pagination.byHeader || believed < PollsBelieved)
    believed = if (asking && pagination.byHeader) believed + 1 else 0
    if (asking) validators.validator(at.token) else None
  }

  private def namesNext(response: PageResponse): Boolean =
    response.head.notModified && pagination.byHeader &&
      (pagination.next(response) match {
        case Right(None) | Left(_: NoPage.Absent) => false
        case _                                    => true
      })

  /** @param records
    *   of the page
    * @param fresh
    *   number of new records among them
    * @param repeatEnds
    *   whether the page is the last one if it names itself
    */
  private def moved(records: Int, fresh: Int, follows: Option[String], repeatEnds: => Boolean): Unit = {
    if (records < at.taken) lost(records, at.taken)
    follows match {
      case Some(token) if pagination.page(endpoint, Some(token)) != pagination.page(endpoint, at.token) =>
        if (guard.visit(pagination.page(endpoint, Some(token))))
          throw loop(s"${describe(at.token)} names ${describe(Some(token))} as the page after it")
        val empty = if (records == 0) emptyPages + 1 else 0
        if (empty > maxEmpty) throw Conditions.TooManyEmptyPages("url" -> endpoint, "pages" -> empty)
        emptyPages = empty
        at = NextPage(Some(token), 0)
        ended = false
      case Some(_) if fresh > 0 && !repeatEnds =>
        throw loop(
          s"${describe(at.token)} has ${Plural.of(fresh.toLong, "new record")} and names itself as the page after it")
      case _ =>
        if (start == NextPage.First && at == start && follows.isEmpty && !contacted)
          PageChain.log.info(s"The first page of $endpoint names no next page: it is taken to be the whole list.")
        at = at.copy(taken = math.max(at.taken, records.toLong))
        ended = true
    }
  }

  private def followed(response: PageResponse): Option[String] = pagination.follows(response) match {
    case Right(found) =>
      if (inWindow(found).nonEmpty) response.scanned.nullArray.foreach { pointer =>
        throw Conditions.RecordsNotFound(
          "url" -> endpoint,
          "pointer" -> pointer,
          "found" -> "null, although the response names a next page",
          "array" -> "/data/items")
      }
      if (response.scanned.records == 0 && response.head.refusal.isEmpty && !options.endAssumed)
        counted(response.token)
          .flatMap(WholeList.more(response.head, response.scanned, _))
          .foreach(says => throw options.mismatch(s"for ${describe(response.token)}", s"0 records, and says $says"))
      found
    case Left(NoPage.Mismatch(found)) =>
      throw options.mismatch(
        s"for ${describe(response.token)}",
        s"${Plural.of(response.scanned.records.toLong, "record")}, $found")
    case Left(NoPage.Absent(place, option)) =>
      throw Conditions.ContinuationMissing(
        "url" -> endpoint,
        "records" -> response.scanned.records,
        "place" -> place,
        "option" -> option,
        "fields" -> FoundParts.fields(response.scanned),
        "headers" -> FoundParts.headers(response.head))
    case Left(part: NoPage.Incomplete) => throw options.incomplete(response.scanned.records.toLong, part)
    case Left(NoPage.Refused(link, reason)) =>
      throw Conditions.LinkRefused("url" -> endpoint, "link" -> link, "reason" -> reason)
  }

  /** The request for a page of counted records; None: pages are not counted. */
  private def counted(token: Option[String]): Option[PageRequest] = {
    val within = pagination match {
      case windows: TimeWindow => windows.within
      case other               => other
    }
    within match {
      case pages: GrowingPages => Some(pages.request(token))
      case pages: CountedPages => Some(pages.request(inWindow(token))).filter(_ => pages.counted != Pagination.Whole)
      case _                   => None
    }
  }

  /** The token of a page within its list or window. */
  private def inWindow(token: Option[String]): Option[String] =
    if (pagination.isInstanceOf[TimeWindow]) token.flatMap(WindowPosition.parse).flatMap(_.page) else token

  /** Describes the page of a token, and its request. */
  private def describe(token: Option[String]): String = {
    val target = options.pageCall.of(endpoint, pagination, token).target
    s"${pagination.describe(token)} (${PageUrl.shown(endpoint, options.own, target)})"
  }

  private def loop(reason: String) =
    Conditions.PaginationLoop("url" -> endpoint, "reason" -> reason, "pagination" -> pagination.kind)
}

private object PageChain {
  private val log = LoggerFactory.getLogger(classOf[PageChain])
}

/** Detects pages that lead back to an earlier one, in bounded memory: it remembers the last [[LoopGuard.Remembered]]
  * pages, and detects any longer loop within its second or third round (R. P. Brent, "An improved Monte Carlo
  * factorization algorithm", 1980).
  */
final private[rest] class LoopGuard {
  private val recent = new java.util.LinkedHashSet[Long]
  private var mark = 0L
  private var steps = 0L
  private var power = 1L

  /** @param page
    *   identifies the page
    * @return
    *   whether the page was visited before
    */
  def visit(page: String): Boolean = {
    val hash = ByteBuffer.wrap(MessageDigest.getInstance("SHA-256").digest(page.getBytes(UTF_8))).getLong()
    val again = !recent.add(hash) || (steps > 0 && hash == mark)
    if (recent.size > LoopGuard.Remembered) {
      val eldest = recent.iterator()
      eldest.next()
      eldest.remove()
    }
    steps += 1
    if (steps == power) {
      mark = hash
      power *= 2
    }
    again
  }
}

private[rest] object LoopGuard {
  val Remembered = 10000
}

/** The names of a response's fields and headers, for an error about a missing one. */
private[rest] object FoundParts {

  /** The fields around the records. */
  def fields(scanned: ScannedPage): String = listed(scanned.outline.map(_._1))

  def headers(response: ResponseHead): String =
    listed(response.all.map(_._1).distinctBy(lower).filterNot(name => Usual(lower(name))))

  private def lower(name: String): String = name.toLowerCase(Locale.ROOT)

  private def listed(names: Seq[String]): String =
    if (names.isEmpty) "none" else names.take(Shown).mkString(", ") + (if (names.size > Shown) ", …" else "")

  private val Shown = 24

  /** Headers that are unrelated to pagination. */
  private val Usual = Set("connection", "content-length", "content-type", "date", "keep-alive", "transfer-encoding")
}
