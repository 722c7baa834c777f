package io.epochal.rest.source.paging

import io.epochal.kit.record.ScannedPage
import io.epochal.rest.http.request.{Endpoint, HttpCall, ResponseHead}

/** `none`: one response has all records of a window. */
private[rest] case object OnePage extends ChainedPagination {
  override def kind: String = "none"
  override def flag: Option[MoreFlag] = None
  override def pointers: Seq[String] = Nil
  override def call(endpoint: Endpoint, token: Option[String]): HttpCall = HttpCall("GET", endpoint.target(""))
  override def page(endpoint: Endpoint, token: Option[String]): String = ""
  override private[rest] def wanted(token: Option[String]): String = "all records"

  override private[rest] def next(
      endpoint: Endpoint,
      asked: AskedPage,
      response: ResponseHead,
      scanned: ScannedPage): Either[NoPage, Option[String]] =
    WholeList.contradiction(response, scanned).filterNot(_ => asked.absentEnds).toLeft(None)
}

/** `offset` and `page`: a window's records are counted from 0, and it ends with an empty page, or where the flag says so. A
  * page that is not full is not taken for the last one: some servers give smaller pages than they are asked for.
  *
  * A token is the number of the record that a page begins with.
  */
final private[rest] case class CountedPages(counted: Pagination, flag: Option[MoreFlag]) extends ChainedPagination {
  override def kind: String = counted.kind
  override def pointers: Seq[String] = flag.map(_.pointer).toSeq
  override def page(endpoint: Endpoint, token: Option[String]): String = token.getOrElse("0")
  override private[rest] def wanted(token: Option[String]): String = request(token).wanted

  /** A page by offset begins where the one before ended, which may be a smaller one than was asked for. */
  def request(token: Option[String]): PageRequest = counted.goOn(record(token))

  /** `pageSize` may have been another one when the token was written. */
  override private[rest] def before(token: Option[String]): Long = record(token) - request(token).first

  private def record(token: Option[String]): Long = token.fold(0L)(_.toLong)

  override def call(endpoint: Endpoint, token: Option[String]): HttpCall =
    HttpCall("GET", endpoint.target(request(token).query))

  override private[rest] def next(
      endpoint: Endpoint,
      asked: AskedPage,
      response: ResponseHead,
      scanned: ScannedPage): Either[NoPage, Option[String]] = {
    val page = request(asked.token)
    counted match {
      case _ if scanned.records > page.size => Left(NoPage.Mismatch("more than it was asked for"))
      case _ if scanned.records == 0        => Right(None)
      case _: Pagination.ByPage             => Right(Some(page.end.toString))
      case _                                => Right(Some((page.first + scanned.records).toString))
    }
  }
}
