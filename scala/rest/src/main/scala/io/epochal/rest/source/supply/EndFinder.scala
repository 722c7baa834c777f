package io.epochal.rest.source.supply

import io.epochal.core.error.Plural
import io.epochal.kit.source.Extent
import io.epochal.rest.source.paging.{PageRequest, Pagination}

/** Finds how many records an API has. */
private[rest] trait EndSearch {

  /** Looks no further than `most` records from `start` on.
    *
    * @return
    *   an extent whose `ends` is below `start` when the API has lost records that it had; it is exact then
    */
  def find(start: Long, most: Long): Extent
}

/** Finds the end with few requests where an API does not say where it is.
  *
  * An idle API costs one request, and so does a batch that is full. For the rest the end is first passed in growing steps and
  * then closed in on (Bentley and Yao, "An almost optimal algorithm for unbounded searching", 1976): with n pages of new
  * records about log n requests, each for a page.
  *
  * @param count
  *   makes a request
  * @param mismatch
  *   the failure when a response is not what the options say: the request, and what came
  */
final private[rest] class EndFinder(
    pagination: Pagination,
    count: PageRequest => Counted,
    mismatch: (PageRequest, String) => Throwable
) extends EndSearch {
  private var provenShort = (0L, 0L)
  private var trusted = 0
  private var lastWasFull = false
  private var idlePolls = 0

  override def find(start: Long, most: Long): Extent = {
    val target = if (start > Long.MaxValue - most) Long.MaxValue else start + most
    val bounded = target < Long.MaxValue
    val far = if (lastWasFull && bounded) ask(Extent(0), target - 1) else Extent(0)
    val near = if (far.exists >= target || far.exact) far else probe(far, start)
    val found =
      if (near.ends < start) search(near, near.ends, 1)
      else if (near.exists >= target || near.exact || lastWasFull || !bounded) search(near, target, 1)
      else search(ask(near, target - 1), target, 1)
    lastWasFull = found.exists >= target
    found
  }

  /** The page at `start`, with the record before it where that costs nothing. Where it does, the record before is looked at
    * only at the first poll that brings nothing, and at every sixteenth.
    */
  private def probe(known: Extent, start: Long): Extent = {
    val extent = absorb(known, pagination.probe(start))
    if (extent.exists >= start) {
      idlePolls = 0
      extent
    } else if (extent.ends < start) extent
    else {
      idlePolls += 1
      if (idlePolls % EndFinder.IdlePollsPerCheck == 1) ask(extent, start - 1) else Extent(start, extent.ends)
    }
  }

  @scala.annotation.tailrec
  private def search(known: Extent, target: Long, step: Long): Extent =
    if (known.exists >= target || known.exact) known
    else if (known.exists > EndFinder.Endless)
      throw mismatch(pagination.request(known.exists - 1), "records, as at every position before")
    else if (known.ends == Long.MaxValue) {
      val pages = math.min(step, EndFinder.Endless / pagination.pageSize + 1) * pagination.pageSize
      val index = math.min(known.exists + pages - 1, target - 1)
      search(ask(known, index), target, math.min(step * EndFinder.Growth, EndFinder.Endless))
    } else {
      val open = known.ends - known.exists
      val index = if (open <= pagination.pageSize) known.exists else known.exists + open / 2
      search(ask(known, index), target, step)
    }

  private def ask(known: Extent, index: Long): Extent = absorb(known, pagination.request(index))

  private def absorb(known: Extent, request: PageRequest): Extent = {
    val page = count(request)
    val records = page.records
    if (records > request.size) throw mismatch(request, Plural.of(records, "record"))
    else if (records == request.size) {
      val exists = math.max(known.exists, request.end)
      Extent(exists, math.max(known.ends, exists))
    } else if (records > 0) {
      val end = request.first + proven(request, page)
      Extent(end, end)
    } else Extent(math.min(known.exists, request.first), math.min(known.ends, request.first))
  }

  /** A page that is not full is the last one, unless the server's pages are smaller than we think. So it is looked at what
    * follows, whenever the short page is another than the last time, and now and then when it is the same: a list can stand
    * at just the size of such a page, and grow.
    */
  private def proven(request: PageRequest, page: Counted): Long = {
    val records = page.records
    if (pagination == Pagination.Whole) records
    else if (provenShort == ((request.first, records)) && trusted < EndFinder.IdlePollsPerCheck) {
      trusted += 1
      records
    } else {
      val next = pagination match {
        case offset: Pagination.ByOffset => offset.goOn(request.first + records)
        case _                           => pagination.request(request.end)
      }
      val follows = count(next)
      if (follows.records == 0 || isSame(page, follows) && count(pagination.request(request.end)).records == 0) {
        provenShort = (request.first, records)
        trusted = 0
        records
      } else {
        val again = count(request).records // The API may just have grown.
        if (again <= records)
          throw mismatch(request, s"${Plural.of(records, "record")}, and has more after them")
        math.min(again, request.size)
      }
    }
  }

  /** A server whose pages begin at multiples of their size gives the short page again for what should follow it. */
  private def isSame(page: Counted, follows: Counted): Boolean = pagination match {
    case _: Pagination.ByOffset => follows == page
    case _                      => false
  }
}

private[rest] object EndFinder {

  private val Growth = 8L
  val IdlePollsPerCheck = 16

  /** No API has as many records: one that seems to gives the same page whatever it is asked for. */
  private val Endless = 1L << 50
}
