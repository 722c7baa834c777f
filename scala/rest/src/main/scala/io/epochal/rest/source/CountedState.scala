package io.epochal.rest.source

import scala.collection.immutable.ListMap

import io.epochal.kit.source.Extent
import io.epochal.rest.http.Validator

/** The driver's view of a counted list, from one poll to the next.
  *
  * @param extent
  *   the result of the last poll; None before the first
  * @param shortPage
  *   first record and length of the short page that was proven to be the last one; (0, 0) if there was none
  * @param shortPageUses
  *   number of searches that have relied on this proof
  * @param isFull
  *   whether the last search reached its limit
  * @param idlePolls
  *   number of consecutive searches without new records
  * @param isTotalChecked
  *   whether a page behind a total was requested
  * @param total
  *   the last length that a response has stated
  * @param isUnverified
  *   whether the next poll verifies its position: it is this run's first one, or the total has become smaller
  * @param isShifted
  *   whether the last poll has met records that differ from those delivered
  * @param isPaged
  *   whether pages were shown to differ: the API does not ignore the parameter for the page
  * @param responses
  *   the latest responses with a validator
  * @param warning
  *   for the log
  * @param isWarned
  *   whether the log has a warning that records are missing
  */
final private[rest] case class CountedState(
    marks: ListMarks,
    extent: Option[Extent] = None,
    shortPage: (Long, Long) = (0L, 0L),
    shortPageUses: Int = 0,
    isFull: Boolean = false,
    idlePolls: Int = 0,
    isTotalChecked: Boolean = false,
    total: Option[Long] = None,
    isUnverified: Boolean = true,
    isShifted: Boolean = false,
    isPaged: Boolean = false,
    responses: ListMap[PageRequest, (Validator, PageFacts)] = ListMap.empty,
    warning: Option[String] = None,
    isWarned: Boolean = false)
