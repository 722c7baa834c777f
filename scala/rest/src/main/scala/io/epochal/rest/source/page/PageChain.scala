package io.epochal.rest.source.page

import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, Plural}
import io.epochal.kit.record.{RecordBlock, ScannedPage}
import io.epochal.rest.http.request.{ResponseHead, Validator}
import io.epochal.rest.http.{HttpClient, Revalidation}
import io.epochal.rest.source.paging.{AskedPage, ChainedPagination, NextPage, NoPage, PageUrl, RestOptions}

/** Follows pages that each say how the next one is asked for. One thread at a time.
  *
  * @param start
  *   the page to begin with
  * @param lost
  *   called for a page that has fewer records than were taken of it: how many it has, and how many it had
  */
final private[rest] class PageChain(
    options: RestOptions,
    pagination: ChainedPagination,
    client: HttpClient,
    start: NextPage,
    lost: (Int, Long) => Unit
) extends Chain {
  import PageChain._
  import options.endpoint

  private val scan = options.scan(pagination.pointers, pagination.key)
  private val guard = new LoopGuard
  private var at = start
  private var ended = false
  private var contacted = false
  private val validators = new Revalidation[Option[String], (ScannedPage, Option[String])](options.revalidates)
  private var believed = 0
  private var pagesRead = 0
  locally { val _ = guard.visit(pagination.page(endpoint, start.token)) }

  override val page = new Page

  override def next: NextPage = at

  override def atEnd: Boolean = ended

  override def bounded: Boolean = false

  /** The last page may have grown since. */
  override def beginPoll(again: Boolean): Boolean = {
    if (!again) recount()
    true
  }

  /** Counts pages from 0 again, against `maxPages`. */
  def recount(): Unit = pagesRead = 0

  @scala.annotation.tailrec
  override def nextPage(each: RecordBlock => Unit): Int = {
    if (pagesRead >= options.maxPages) throw Conditions.TooManyPages("url" -> endpoint, "pages" -> pagesRead)
    val call = options.pageCall.of(endpoint, pagination, at.token)
    val asked = AskedPage(at.token, call.target, options.endAssumed || pagination.continues(at.token))
    val skip = math.max(at.taken, pagination.before(at.token))
    var mistaken = false
    val (scanned, follows) = client.call(call.copy(unless = known), page.body, !contacted) { head =>
      mistaken = namesNext(asked, head)
      page.received(head, PageUrl.shown(endpoint, options.own, call.target), options)
      validators.read(at.token, head) {
        val scanned = scan.read(page.body, skip)
        (scanned, followed(pagination.follows(endpoint, asked, head, scanned), asked.token, scanned, head))
      }
    }
    contacted = true
    if (mistaken) {
      validators.forget(at.token)
      nextPage(each)
    } else {
      pagesRead += 1
      val fresh = math.max(0L, scanned.records - skip).toInt
      moved(scanned.records, fresh, follows)
      if (fresh > 0) scan.blocks(scanned, page.body).foreach(each)
      fresh
    }
  }

  /** Validator for a conditional request of the last page. A header may name a next page and leave the tag of the body as it was:
    * a server's word that nothing is new is then believed a few times only.
    */
  private def known: Option[Validator] = {
    val asking = ended && (!pagination.byHeader || believed < PollsBelieved)
    believed = if (asking && pagination.byHeader) believed + 1 else 0
    if (asking) validators.validator(at.token) else None
  }

  private def namesNext(asked: AskedPage, response: ResponseHead): Boolean =
    response.notModified && pagination.byHeader &&
      (pagination.next(endpoint, asked, response, ScannedPage.nothing) match {
        case Right(None) | Left(_: NoPage.Absent) => false
        case _                                    => true
      })

  /** @param records
    *   of the page
    * @param fresh
    *   those of them that were not taken before
    */
  private def moved(records: Int, fresh: Int, follows: Option[String]): Unit = {
    if (records < at.taken) lost(records, at.taken)
    follows match {
      case Some(token) if pagination.page(endpoint, Some(token)) != pagination.page(endpoint, at.token) =>
        if (guard.visit(pagination.page(endpoint, Some(token))))
          throw loop(s"${wanted(at.token)} names ${wanted(Some(token))} as the page after it")
        at = NextPage(Some(token), 0)
        ended = false
      case Some(_) if fresh > 0 =>
        throw loop(
          s"${wanted(at.token)} has ${Plural.of(fresh.toLong, "new record")} and names itself as the page after it")
      case _ =>
        if (start == NextPage.First && at == start && follows.isEmpty) single()
        at = at.copy(taken = math.max(at.taken, records.toLong))
        ended = true
    }
  }

  private def followed(
      next: Either[NoPage, Option[String]],
      token: Option[String],
      scanned: ScannedPage,
      head: ResponseHead): Option[String] = next match {
    case Right(found) => found
    case Left(NoPage.Mismatch(found)) =>
      throw options.mismatch(s"for ${wanted(token)}", s"${Plural.of(scanned.records.toLong, "record")}, $found")
    case Left(NoPage.Absent(place, option)) =>
      throw Conditions.ContinuationMissing(
        "url" -> endpoint,
        "records" -> scanned.records,
        "place" -> place,
        "option" -> option,
        "fields" -> FoundParts.fields(scanned),
        "headers" -> FoundParts.headers(head))
    case Left(part: NoPage.Incomplete) => throw options.incomplete(scanned.records.toLong, part)
    case Left(NoPage.Refused(link, reason)) =>
      throw Conditions.LinkRefused("url" -> endpoint, "link" -> link, "reason" -> reason)
  }

  private def single(): Unit =
    log.info(s"The first page of $endpoint names no next page: it is taken to be the whole list.")

  /** What is asked for with a token, and how. */
  private def wanted(token: Option[String]): String = {
    val target = options.pageCall.of(endpoint, pagination, token).target
    s"${pagination.wanted(token)} (${PageUrl.shown(endpoint, options.own, target)})"
  }

  private def loop(reason: String) =
    Conditions.PaginationLoop("url" -> endpoint, "reason" -> reason, "pagination" -> pagination.kind)
}

private object PageChain {
  private val log = LoggerFactory.getLogger(classOf[PageChain])

  private val PollsBelieved = 15
}
