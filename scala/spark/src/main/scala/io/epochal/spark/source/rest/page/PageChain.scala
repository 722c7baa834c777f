package io.epochal.spark.source.rest.page

import org.slf4j.LoggerFactory

import io.epochal.core.error.Conditions
import io.epochal.spark.http.{BodyBuffer, HttpClient}
import io.epochal.spark.source.rest.{NextPage, RestOptions}

/** Records of a page that were not taken before, in the bytes `from` to `until` of the answer, as a JSON array.
  *
  * @param records
  *   how many; 0 where the bytes mean nothing
  */
final private[rest] case class NewRecords(records: Int, from: Int, until: Int)

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

  private val scan = new AnswerScan(options.records, pagination.pointers, endpoint, pagination.key)
  private val guard = new LoopGuard
  private var at = start
  private var ended = false
  private var contacted = false
  private var turned = 0
  locally { val _ = guard.visit(pagination.page(endpoint, start.token)) }

  override val buffer = new BodyBuffer

  override def next: NextPage = at

  override def atEnd: Boolean = ended

  override def bounded: Boolean = false

  /** The last page may have grown since. */
  override def look(): Boolean = {
    recount()
    true
  }

  /** Counts pages from 0 again, against `maxPages`. */
  def recount(): Unit = turned = 0

  override def turn(): NewRecords = {
    if (turned >= options.maxPages) throw Conditions.TooManyPages("url" -> endpoint, "pages" -> turned)
    val asked = options.pageCall.of(endpoint, pagination, at.token)
    val skip = math.max(at.taken, pagination.before(at.token))
    var follows = Option.empty[String]
    val answer = client.call(asked, buffer, !contacted) { answer =>
      val scanned = scan.read(buffer, skip)
      follows = followed(pagination.follows(endpoint, AskedPage(at.token, asked.target), answer, scanned))
      scanned
    }
    contacted = true
    turned += 1
    if (answer.records < at.taken) lost(answer.records, at.taken)
    val fresh = math.max(0L, answer.records - skip).toInt
    follows match {
      case Some(token) if pagination.page(endpoint, Some(token)) != pagination.page(endpoint, at.token) =>
        if (guard.visit(pagination.page(endpoint, Some(token))))
          throw loop("after other pages the same one is named again")
        at = NextPage(Some(token), 0)
        ended = false
      case Some(_) if fresh > 0 => throw loop(s"a page with $fresh new records names itself as the next one")
      case _ =>
        if (start == NextPage.First && at == start && follows.isEmpty) single()
        at = at.copy(taken = math.max(at.taken, answer.records.toLong))
        ended = true
    }
    NewRecords(fresh, answer.from, answer.until)
  }

  private def followed(token: Either[NoPage, Option[String]]): Option[String] = token match {
    case Right(found)                  => found
    case Left(NoPage.Mismatch(reason)) => throw options.mismatch(reason)
    case Left(NoPage.Refused(link, reason)) =>
      throw Conditions.LinkRefused("url" -> endpoint, "link" -> link, "reason" -> reason)
  }

  private def single(): Unit =
    log.info(s"The first page of $endpoint names no page after it: all its records are taken to be there.")

  private def loop(reason: String) =
    Conditions.PaginationLoop("url" -> endpoint, "reason" -> reason, "pagination" -> pagination.kind)
}

private object PageChain {
  private val log = LoggerFactory.getLogger(classOf[PageChain])
}
