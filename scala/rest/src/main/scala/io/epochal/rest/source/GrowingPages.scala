package io.epochal.rest.source

import scala.util.Using

import io.epochal.core.error.Plural
import io.epochal.kit.record.Body
import io.epochal.rest.http.{Endpoint, HttpCall, HttpClient}

/** `none`, `offset` and `page` of a list that grows at its end, followed page after page. A page that is not full is the
  * last one: it is requested again, and its new records are delivered.
  *
  * Not guaranteed: that a server returns pages of the requested size. [[PageSizes]] checks it.
  *
  * A token is the number of a page's first record.
  *
  * @param total
  *   JSON Pointer to the length of the list in a response, which ends with the page that has the last of so many records
  * @param totalHeader
  *   the header with that number instead
  */
final private[rest] case class GrowingPages(
    counted: Pagination,
    total: Option[String] = None,
    totalHeader: Option[String] = None)
    extends ChainedPagination {
  private val pages = CountedPages(counted, None)

  override def kind: String = counted.kind
  override def flag: Option[MoreFlag] = None
  override def call(endpoint: Endpoint, token: Option[String]): HttpCall = pages.call(endpoint, token)
  override def page(endpoint: Endpoint, token: Option[String]): String = pages.page(endpoint, token)
  override private[rest] def describe(token: Option[String]): String = pages.describe(token)
  override private[source] def value(token: Option[String], place: String): String = pages.value(token, place)
  override private[rest] def before(token: Option[String]): Long = pages.before(token)
  override private[rest] def mayBePastEnd(token: Option[String]): Boolean = pages.mayBePastEnd(token)
  override private[rest] def endCheck(token: Option[String]): Option[EndCheck] = pages.endCheck(token)

  override def pointers: Seq[String] = total.toSeq

  override private[rest] def next(response: PageResponse): ChainedPagination.Next = {
    val (page, records) = (request(response.token), response.scanned.records.toLong)
    val inBody = total.map(at => s"'$at'" -> response.scanned.values.get(at).flatten)
    val stated = inBody.orElse(totalHeader.map(name => s"the header $name" -> response.head.header(name)))
    (stated, stated.flatMap(_._2).flatMap(_.trim.toLongOption)) match {
      case (Some((place, _)), None) if records > 0 && response.head.refusal.isEmpty =>
        Left(NoPage.Mismatch(s"a response that does not say at $place how many records there are"))
      case (Some((place, _)), Some(all)) if records == 0 && all > page.first =>
        Left(NoPage.Mismatch(s"and says at $place that there are $all in all"))
      case (_, Some(all)) if records <= page.size && page.first + records >= all => Right(None)
      case _ => if (isShort(response.token, records)) Right(None) else pages.next(response)
    }
  }

  def request(token: Option[String]): PageRequest = pages.request(token)

  /** Whether a page with records is not full. */
  def isShort(token: Option[String], records: Long): Boolean =
    counted != Pagination.Whole && records > 0 && records < request(token).size

  /** The page at the record after a page with so many records. */
  def after(token: Option[String], records: Long): PageRequest = {
    val page = request(token)
    counted match {
      case _: Pagination.ByPage => counted.request(page.end)
      case _                    => counted.continueAt(page.first + records)
    }
  }
}

/** Checks that short pages are the last ones of their lists, and not the largest that the server returns. A page is
  * checked if it is larger than all that were checked; once a page was full there is nothing to check. Thread-safe.
  */
final private[rest] class PageSizes {
  private var proven = 0L

  /** @param last
    *   the last page of a list, as a chain has read it
    * @throws io.epochal.core.error.EpochalException
    *   PAGINATION_MISMATCH
    */
  def check(options: RestOptions, pagination: ChainedPagination, client: HttpClient, last: NextPage): Unit =
    pagination match {
      case pages: GrowingPages =>
        if (pages.isShort(last.token, last.taken) && last.taken > synchronized(proven)) {
          val after = pages.after(last.token, last.taken)
          val found = records(options, pages, client, after)
          // The list may have grown in between.
          if (found == 0) prove(last.taken)
          else if (records(options, pages, client, pages.request(last.token)) <= last.taken)
            throw options.mismatch(
              after,
              s"${Plural.of(found, "record")}, after a page with only ${Plural.of(last.taken, "record")}")
        } else if (last.token.nonEmpty) prove(pages.request(last.token).size)
      case _ => ()
    }

  private def prove(records: Long): Unit = synchronized { proven = math.max(proven, records) }

  private def records(options: RestOptions, pages: GrowingPages, client: HttpClient, page: PageRequest): Long =
    Using.resource(Body.ofPage()) { body =>
      val call = options.pageCall.of(options.endpoint, pages.counted, page).copy(endAfter = 1)
      client.call(call, body)(head => if (head.refusal.isEmpty) options.scan().read(body).records.toLong else 0L)
    }
}
