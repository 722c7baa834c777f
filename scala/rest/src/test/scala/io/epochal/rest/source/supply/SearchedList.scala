package io.epochal.rest.source.supply

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.source.Extent
import io.epochal.rest.source._

/** A search for the end of a list, whose pages a function counts. */
final class SearchedList(pagination: Pagination, respond: PageRequest => PageFacts, byTotal: Boolean = false) {
  private val list =
    RestOptions.read(Map("url" -> "http://h/c")).fold(throw _, identity).requests.copy(paging = pagination)
  private var state = CountedState(ListMarks("", byTotal))

  private def answer(request: PageRequest, tolerates: EpochalException => Boolean): Option[PageFacts] =
    try Some(respond(request))
    catch { case error: EpochalException if tolerates(error) => None }

  private val ends = new EndSearch(
    list,
    byTotal,
    (request, tolerates) => new ListStep(state => Step.Done(state -> answer(request, tolerates))))

  def find(start: Long, most: Long): Extent = ends.find(start, most).from(state) match {
    case Step.Done((after, extent)) =>
      state = after
      extent
    case Step.Refuse(error) => throw error
    case other              => throw new IllegalStateException(other.toString)
  }
}

object SearchedList {

  /** The request whose response is refused, and the reason. */
  def refused(body: => Any): String =
    try throw new AssertionError(s"it was accepted: $body")
    catch {
      case error: EpochalException =>
        val problem =
          if (error.condition == Conditions.PageRefused) s"status ${error.values("status")}" else error.values("found")
        s"${error.values("asked")}: $problem"
    }
}
