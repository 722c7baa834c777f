package io.epochal.rest.source.supply

import io.epochal.core.error.Plural
import io.epochal.kit.source.Extent
import io.epochal.rest.source.paging.{PageRequest, Pagination}

/** The result of a request for a page of a counted list.
  *
  * @param records
  *   number of records on the page
  * @param total
  *   the length of the list according to the response; None if the response has no body, or totals are not configured
  * @param content
  *   digest of the page's records; 0 unless the pagination is by offset
  * @param digests
  *   digests of some of the records, by their number in the list
  */
final private[rest] case class Counted(
    records: Long,
    total: Option[Long] = None,
    content: Long = 0,
    digests: Seq[(Long, String)] = Nil)

/** A step of the search for the end of a counted list: a request whose response leads to the next step, or the result.
  * Pure: the caller sends the requests. Records are counted from 0.
  */
sealed private[rest] trait EndSearch

private[rest] object EndSearch {

  final case class Ask(request: PageRequest)(respond: Counted => EndSearch) extends EndSearch {

    /** The step after the response to the request. */
    def next(response: Counted): EndSearch = respond(response)
  }

  /** The result.
    *
    * @param extent
    *   exact unless the search reached its limit. If the list has lost records, `ends` is below the start of the search
    * @param memory
    *   for the next search
    */
  final case class Found(extent: Extent, memory: EndMemory) extends EndSearch

  /** A response contradicts the options: the search has failed.
    *
    * @param found
    *   the contents of the response, to complete the message "it returned …"
    */
  final case class Mismatch(request: PageRequest, found: String) extends EndSearch

  /** Begins a search for the end of the list.
    *
    * @param byTotal
    *   whether responses have the total number of records
    * @param memory
    *   from the last search
    * @param start
    *   number of delivered records
    * @param most
    *   the limit: without totals, the search ends once this many records after `start` are known to exist
    */
  def begin(pagination: Pagination, byTotal: Boolean, memory: EndMemory, start: Long, most: Long): EndSearch =
    if (byTotal) new EndByTotal(pagination, memory).find(start) else new EndFinder(pagination).find(memory, start, most)

  /** How rarely an idle list gets a request beyond the one that each poll needs: at the first idle poll, then at every
    * sixteenth.
    */
  private[supply] val IdlePollsPerCheck = 16
}

/** State carried from one search to the next.
  *
  * @param short
  *   first record and length of the short page that was proven to be the last one; (0, 0) if there was none
  * @param trusted
  *   number of searches that have relied on this proof
  * @param full
  *   whether the last search reached its limit
  * @param idlePolls
  *   number of consecutive searches without new records
  */
final private[rest] case class EndMemory(
    short: (Long, Long) = (0L, 0L),
    trusted: Int = 0,
    full: Boolean = false,
    idlePolls: Int = 0)

/** Finds the end with few requests if responses do not state the total.
  *
  * An idle list costs one request, and so does a full batch. Otherwise the search passes the end in growing steps and
  * then narrows it down (Bentley and Yao, "An almost optimal algorithm for unbounded searching", 1976): n pages of new
  * records take about log n requests, each for one page.
  */
final private class EndFinder(pagination: Pagination) {
  import EndFinder._
  import EndSearch._

  /** Searches in three steps, and ends after the first that yields the result:
    *
    *   - if the last search reached its limit, the page of the last record within this limit: a full batch takes no
    *     more
    *   - the page at `start`: an idle list takes no more
    *   - a search between the two, or below `start` if the list has lost records
    */
  def find(memory: EndMemory, start: Long, most: Long): EndSearch = {
    val target = if (start > Long.MaxValue - most) Long.MaxValue else start + most
    val bounded = target < Long.MaxValue
    def far(after: Known => EndSearch) =
      if (memory.full && bounded) ask(Known(Extent(0), memory), target - 1)(after) else after(Known(Extent(0), memory))
    def near(far: Known)(after: Known => EndSearch) =
      if (far.exists >= target || far.exact) after(far) else probe(far, start)(after)
    far(near(_) { near =>
      if (near.ends < start) search(near, near.ends, target, 1)
      else if (near.exists >= target || near.exact || memory.full || !bounded) search(near, target, target, 1)
      else ask(near, target - 1)(search(_, target, target, 1))
    })
  }

  /** Requests the page at `start`, which usually contains record `start - 1`, too, and so shows whether the list has
    * lost records. If it does not, that record takes a second request: on an idle list only, every `IdlePollsPerCheck`
    * polls.
    */
  private def probe(known: Known, start: Long)(after: Known => EndSearch): EndSearch =
    absorb(known, pagination.probe(start)) { now =>
      if (now.exists >= start) after(now.idle(0))
      else if (now.ends < start) after(now)
      else {
        val idle = now.idle(now.memory.idlePolls + 1)
        if (idle.memory.idlePolls % IdlePollsPerCheck == 1) ask(idle, start - 1)(after)
        else after(idle.to(start, now.ends))
      }
    }

  /** Requests pages until the end is exact or record `target - 1` is known to exist: in growing steps while no end is
    * known, then halving the interval.
    *
    * @param limit
    *   the search counts as full ([[EndMemory.full]]) if so many records exist
    * @param step
    *   number of pages to advance while no end is known
    */
  private def search(known: Known, target: Long, limit: Long, step: Long): EndSearch =
    if (known.exists >= target || known.exact) Found(known.extent, known.memory.copy(full = known.exists >= limit))
    else if (known.exists > Endless)
      Mismatch(pagination.request(known.exists - 1), "records, as at every position before")
    else if (known.ends == Long.MaxValue) {
      val pages = math.min(step, Endless / pagination.pageSize + 1) * pagination.pageSize
      val index = math.min(known.exists + pages - 1, target - 1)
      ask(known, index)(search(_, target, limit, math.min(step * Growth, Endless)))
    } else {
      val open = known.ends - known.exists
      val index = if (open <= pagination.pageSize) known.exists else known.exists + open / 2
      ask(known, index)(search(_, target, limit, step))
    }

  private def ask(known: Known, index: Long)(after: Known => EndSearch): EndSearch =
    absorb(known, pagination.request(index))(after)

  /** Requests a page and adds its result: the records of a full page exist, the list ends before an empty page, and a
    * short page must be proven to be the last one.
    */
  private def absorb(known: Known, request: PageRequest)(after: Known => EndSearch): EndSearch = Ask(request) { page =>
    val records = page.records
    if (records > request.size) Mismatch(request, Plural.of(records, "record"))
    else if (records == request.size) {
      val exists = math.max(known.exists, request.end)
      after(known.to(exists, math.max(known.ends, exists)))
    } else if (records > 0) proven(known.memory, request, page) { (records, memory) =>
      val end = request.first + records
      after(Known(Extent(end, end), memory))
    }
    else after(known.to(math.min(known.exists, request.first), math.min(known.ends, request.first)))
  }

  /** Proves that a short page is the last one. It may not be: the server's pages may be smaller than `pageSize`. So the
    * page after it must be empty. This is checked for each short page that was not the last one in the previous search,
    * and every `IdlePollsPerCheck` searches for one that was: a list may end with just such a page, and grow later.
    */
  private def proven(memory: EndMemory, request: PageRequest, page: Counted)(
      after: (Long, EndMemory) => EndSearch): EndSearch = {
    val records = page.records
    if (pagination == Pagination.Whole) after(records, memory)
    else if (memory.short == ((request.first, records)) && memory.trusted < IdlePollsPerCheck)
      after(records, memory.copy(trusted = memory.trusted + 1))
    else {
      val byOffset = pagination.isInstanceOf[Pagination.ByOffset]
      def isLast = after(records, memory.copy(short = (request.first, records), trusted = 0))
      def grown = Ask(request) { again => // The list may just have grown.
        if (again.records <= records) Mismatch(request, s"${Plural.of(records, "record")}, and has more after them")
        else after(math.min(again.records, request.size), memory)
      }
      Ask(if (byOffset) pagination.continueAt(request.first + records) else pagination.request(request.end)) { follows =>
        if (follows.records == 0) isLast
        // A server whose pages begin at multiples of their size returns the short page once more.
        else if (byOffset && follows.copy(digests = Nil) == page.copy(digests = Nil))
          Ask(pagination.request(request.end))(nextPage => if (nextPage.records == 0) isLast else grown)
        else grown
      }
    }
  }
}

private object EndFinder {
  private val Growth = 8L

  /** No list has so many records: a server that seems to have them returns the same page for every request. */
  private val Endless = 1L << 50

  /** The result of the requests so far. */
  final private case class Known(extent: Extent, memory: EndMemory) {
    def exists: Long = extent.exists
    def ends: Long = extent.ends
    def exact: Boolean = extent.exact
    def to(exists: Long, ends: Long): Known = copy(extent = Extent(exists, ends))
    def idle(polls: Int): Known = copy(memory = memory.copy(idlePolls = polls))
  }
}

/** Finds the end by the total in a response, usually with one request: for the page of the last delivered record. That
  * page exists, while a request for the next one may fail, and it shows whether the record still exists.
  *
  * A page that contradicts the total is a mismatch: a total that is capped, or counts unlisted records, is not the end.
  */
final private class EndByTotal(pagination: Pagination, memory: EndMemory) {
  import EndSearch._

  def find(start: Long): EndSearch = {
    val request = pagination.request(math.max(0L, start - 1))
    def found(total: Long): EndSearch =
      if (total == start && start > 0 && start % pagination.pageSize == 0) further(start) else end(total, 0)
    fitting(request)(_.total.fold(left(request.first)(found))(found))
  }

  private def end(total: Long, idlePolls: Int): EndSearch =
    Found(Extent(total, total), memory.copy(idlePolls = idlePolls))

  /** A full page does not reveal a capped total. So the next page, which may not exist, is requested every
    * `IdlePollsPerCheck` polls.
    */
  private def further(total: Long): EndSearch = {
    val idle = memory.idlePolls + 1
    if (idle % IdlePollsPerCheck != 1) end(total, idle)
    else fitting(pagination.request(total))(nextPage => end(nextPage.total.getOrElse(total), idle))
  }

  /** Requests a page, once more if it contradicts its total: the list may change while the server counts and reads. */
  private def fitting(request: PageRequest)(after: Counted => EndSearch): EndSearch = Ask(request) { first =>
    if (problem(request, first).isEmpty) after(first)
    else Ask(request)(second => problem(request, second).fold(after(second))(Mismatch(request, _)))
  }

  /** Finds the number of remaining records, after a response without a body: the requested page is gone. The first page
    * has the total.
    *
    * @param before
    *   first record of the requested page
    */
  private def left(before: Long)(after: Long => EndSearch): EndSearch =
    if (before == 0) after(0)
    else
      Ask(pagination.request(0)) { first =>
        val total = first.total.getOrElse(0L)
        if (total > before)
          Mismatch(pagination.request(before), s"no page, and says that there are $total records in all")
        else after(total)
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
