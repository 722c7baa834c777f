package io.epochal.rest.source.supply

import io.epochal.core.error.Plural
import io.epochal.kit.source.Extent
import io.epochal.rest.source.paging.{PageRequest, Pagination}

/** What a response tells of the list's length.
  *
  * @param total
  *   what it says that the list has; None where there was no response to speak of
  * @param content
  *   tells the records from those of other pages, where that is of use
  */
final private[rest] case class Counted(records: Long, total: Option[Long] = None, content: Long = 0)

/** Finds how many records an API has by what it says: one request. The page that is asked for is the one with the last record that
  * was delivered: it exists, where the one after it may be an error, and it shows whether that record is still there. What the
  * page has must fit what it says: a number that is capped, or counts what is not listed, is no end.
  *
  * @param count
  *   makes a request
  * @param mismatch
  *   the failure when a response is not what the options say: the request, and what came
  */
final private[rest] class EndByTotal(
    pagination: Pagination,
    count: PageRequest => Counted,
    mismatch: (PageRequest, String) => Throwable
) extends EndSearch {

  private var idlePolls = 0

  override def find(start: Long, most: Long): Extent = {
    val request = pagination.request(math.max(0L, start - 1))
    val total = fitting(request).total.getOrElse(left(request.first))
    val all =
      if (total == start && start > 0 && start % pagination.pageSize == 0) further(start)
      else {
        idlePolls = 0
        total
      }
    Extent(all, all)
  }

  /** Full pages alone do not tell a number that is capped: now and then it is looked behind them. There may be no page. */
  private def further(total: Long): Long = {
    idlePolls += 1
    if (idlePolls % EndFinder.IdlePollsPerCheck != 1) total
    else fitting(pagination.request(total)).total.getOrElse(total)
  }

  private def fitting(request: PageRequest): Counted = {
    val first = count(request)
    // The list may have changed between the count and the page: then it fits when asked again.
    val counted = if (problem(request, first).isEmpty) first else count(request)
    problem(request, counted).foreach(found => throw mismatch(request, found))
    counted
  }

  /** Where the page that was asked for is gone, the first one says how many records are left. */
  private def left(before: Long): Long =
    if (before == 0) 0
    else {
      val total = count(pagination.request(0)).total.getOrElse(0L)
      if (total > before)
        throw mismatch(pagination.request(before), s"no page, and says that there are $total records in all")
      total
    }

  private def problem(request: PageRequest, counted: Counted): Option[String] = {
    val end = request.first + counted.records
    counted.total match {
      case _ if counted.records > request.size => Some(Plural.of(counted.records, "record"))
      case Some(total) if counted.records > 0 && end > total || end < math.min(request.end, total) =>
        Some(s"${Plural.of(counted.records, "record")}, and says that there are $total in all")
      case _ => None
    }
  }
}
