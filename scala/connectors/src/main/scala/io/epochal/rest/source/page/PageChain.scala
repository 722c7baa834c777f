package io.epochal.rest.source.page

import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, Plural}
import io.epochal.rest.http.request.{HttpAnswer, Validator}
import io.epochal.rest.http.{HttpClient, Revalidation}
import io.epochal.rest.source.paging.{AskedPage, ChainedPagination, NextPage, NoPage, PageUrl, RestOptions}
import io.epochal.rest.source.record.ScannedAnswer

/** Follows pages that each say how the next one is asked for. One thread at a time.
  *
  * @param start
  *   the page to begin with
  * @param lost
  *   told of a page that has fewer records than were taken of it: how many it has, and how many it had
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

  private val scan = AnswerScan.of(options, pagination.pointers, pagination.key)
  private val guard = new LoopGuard
  private var at = start
  private var ended = false
  private var contacted = false
  private val looks = new Revalidation[Option[String], (ScannedAnswer, Option[String])](options.revalidates)
  private var believed = 0
  private var turned = 0
  locally { val _ = guard.visit(pagination.page(endpoint, start.token)) }

  override val answer = new Answer

  override def next: NextPage = at

  override def atEnd: Boolean = ended

  override def bounded: Boolean = false

  /** The last page may have grown since. */
  override def look(again: Boolean): Boolean = {
    if (!again) recount()
    true
  }

  /** Counts pages from 0 again, against `maxPages`. */
  def recount(): Unit = turned = 0

  @scala.annotation.tailrec
  override def turn(each: RecordBlock => Unit): Int = {
    if (turned >= options.maxPages) throw Conditions.TooManyPages("url" -> endpoint, "pages" -> turned)
    val call = options.pageCall.of(endpoint, pagination, at.token)
    val asked = AskedPage(at.token, call.target, options.endAssumed || pagination.continues(at.token))
    val skip = math.max(at.taken, pagination.before(at.token))
    var mistaken = false
    val (scanned, follows) = client.call(call.copy(unless = known), answer.body, !contacted) { head =>
      mistaken = namesNext(asked, head)
      answer.came(head, PageUrl.shown(endpoint, options.own, call.target), options)
      looks.read(at.token, head) {
        val scanned = scan.read(answer.body, skip)
        (scanned, followed(pagination.follows(endpoint, asked, head, scanned), asked.token, scanned, head))
      }
    }
    contacted = true
    if (mistaken) {
      looks.forget(at.token)
      turn(each)
    } else {
      turned += 1
      val fresh = math.max(0L, scanned.records - skip).toInt
      moved(scanned.records, fresh, follows)
      if (fresh > 0) scan.blocks(scanned, answer).foreach(each)
      fresh
    }
  }

  /** What the last page need not be sent again for. What is told of the next page by a header may not change the tag of a body:
    * a server's word that nothing is new is then believed a few times only.
    */
  private def known: Option[Validator] = {
    val asking = ended && (!pagination.byHeader || believed < LooksBelieved)
    believed = if (asking && pagination.byHeader) believed + 1 else 0
    if (asking) looks.validator(at.token) else None
  }

  private def namesNext(asked: AskedPage, answer: HttpAnswer): Boolean =
    answer.notModified && pagination.byHeader &&
      (pagination.next(endpoint, asked, answer, ScannedAnswer.nothing) match {
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
      scanned: ScannedAnswer,
      head: HttpAnswer): Option[String] = next match {
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

  private val LooksBelieved = 15
}
