package io.epochal.rest.source

import io.epochal.rest.http.{Endpoint, HttpCall}

/** `none`, `offset` and `page`, followed page after page. With `none` one response has all records. Otherwise the list, or
  * the time window, ends with an empty page, by the flag, or with the page that has the last of a stated number of records.
  *
  * A token is the number of the first record of a page, counted from 0.
  *
  * @param total
  *   where responses state the length of the list
  * @param grows
  *   whether a page that is not full is the last one: it is requested again, and its new records are delivered. Not
  *   guaranteed: that a server returns pages of the requested size, which [[PageChain]] checks. False: a short page is not
  *   the last, because some servers return smaller pages than requested
  */
final private[rest] case class CountedPages(
    by: Pagination,
    flag: Option[MoreFlag] = None,
    total: ListTotal = ListTotal(),
    grows: Boolean = false)
    extends ChainedPagination {

  override def kind: String = by.kind
  override def isCounted: Boolean = true
  override def parameters: Seq[String] = by.parameters
  override def placeholders: Seq[String] = by.placeholders
  override def identity: Option[String] = by.identity
  override def pointers: Seq[String] = super.pointers ++ total.pointer
  override def page(endpoint: Endpoint, token: Option[String]): String = token.getOrElse("0")
  override private[rest] def describe(token: Option[String]): String = request(token).recordsText

  /** A page by offset begins where the previous one ended, which may be smaller than requested. */
  def request(token: Option[String]): PageRequest = by.continueAt(record(token))

  override private[rest] def countedRequest(token: Option[String]): Option[PageRequest] =
    Option.when(grows || by != Pagination.Whole)(request(token))

  override private[source] def value(token: Option[String], place: String): String =
    by.value(request(token), place).toString

  override private[rest] def mayBePastEnd(token: Option[String]): Boolean = request(token).first > 0

  /** By offset, a short page proves nothing: the server's pages may be smaller than requested. */
  override private[rest] def endCheck(token: Option[String]): Option[EndCheck] = {
    val end = request(token).first
    val before = Some(by).collect { case pages: Pagination.ByPage =>
      Some((end - pages.pageSize).toString) -> pages.pageSize
    }
    by.endCheck(end).map { case (pages, first) =>
      EndCheck(copy(by = pages), Some(first.toString), end - first, before)
    }
  }

  /** Above 0 if `pageSize` has changed since the token was written. */
  override private[rest] def before(token: Option[String]): Long = record(token) - request(token).first

  override def call(endpoint: Endpoint, token: Option[String]): HttpCall =
    HttpCall("GET", endpoint.target(request(token).query))

  override private[rest] def next(response: PageResponse): ChainedPagination.Next = {
    val (page, records) = (request(response.token), response.scanResult.records.toLong)
    total.read(response.head, response.scanResult, isAbsent = false) match {
      case Left(problem) => Left(NoPage.Mismatch(problem))
      case Right(Some(all)) if records == 0 && all > page.first =>
        Left(NoPage.Mismatch(s"and says at ${total.place.mkString} that there are $all in all"))
      case Right(Some(all)) if records <= page.size && page.first + records >= all => Right(None)
      case _ if isShort(response.token, records)                                   => Right(None)
      case _ if by == Pagination.Whole =>
        WholeList.contradiction(response.head, response.scanResult).filterNot(_ => response.absentEnds).toLeft(None)
      case _ if records > page.size => Left(NoPage.Mismatch("more records than requested"))
      case _ if records == 0        => Right(None)
      case _                        => Right(Some(after(response.token, records).first.toString))
    }
  }

  /** Whether a page with so many records is not full, and therefore the last one. */
  def isShort(token: Option[String], records: Long): Boolean =
    grows && by != Pagination.Whole && records > 0 && records < request(token).size

  /** The page at the record after a page with so many records. */
  def after(token: Option[String], records: Long): PageRequest = {
    val page = request(token)
    by match {
      case _: Pagination.ByPage => by.request(page.end)
      case _                    => by.continueAt(page.first + records)
    }
  }

  private def record(token: Option[String]): Long = token.fold(0L)(_.toLong)
}
