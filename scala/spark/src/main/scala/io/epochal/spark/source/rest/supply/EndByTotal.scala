package io.epochal.spark.source.rest.supply

import io.epochal.spark.source.rest.page.{PageRequest, Pagination}

/** What an answer tells of the list's length.
  *
  * @param total
  *   what it says that the list has; None where there was no answer to speak of
  */
final private[rest] case class Counted(records: Long, total: Option[Long])

/** Finds how many records an API has by what it says: one request. The page that is asked for lies at the end of what is known, and
  * what it has must fit what it says: a number that is capped, or counts what is not listed, is no end.
  *
  * @param count
  *   makes a request
  * @param mismatch
  *   the failure when answers are not what the options say, for a reason
  */
final private[rest] class EndByTotal(
    pagination: Pagination,
    count: PageRequest => Counted,
    mismatch: String => Throwable
) extends EndSearch {

  override def find(start: Long, most: Long): Extent = {
    val request = pagination.probe(start, start + 1)
    val first = count(request)
    // The list may have changed between the count and the page: then it fits when asked again.
    val answer = if (problem(request, first).isEmpty) first else count(request)
    problem(request, answer).foreach(reason => throw mismatch(reason))
    val total = answer.total.getOrElse(request.first)
    Extent(total, total)
  }

  private def problem(request: PageRequest, answer: Counted): Option[String] = {
    val end = request.first + answer.records
    answer.total match {
      case _ if answer.records > request.size => Some(EndFinder.tooMany(request, Some(answer.records)))
      case Some(total) if answer.records > 0 && end > total =>
        Some(s"it says that it has $total records, and gives record ${end - 1}, counted from 0")
      case Some(total) if end < math.min(request.end, total) =>
        Some(s"${request.asked}, it gave ${answer.records}, and it says that it has $total")
      case _ => None
    }
  }
}
