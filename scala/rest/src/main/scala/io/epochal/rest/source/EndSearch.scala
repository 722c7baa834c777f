package io.epochal.rest.source

import scala.util.Try

import io.epochal.core.error.{EpochalException, Plural}
import io.epochal.kit.source.Extent
import io.epochal.rest.http.Refusal

/** Searches for the end of a counted list, poll after poll. Records are counted from 0.
  *
  * If responses state the total, a search usually takes one request, for the page of the last delivered record. That
  * page exists, while a request for the next one may fail, and it shows whether the record still exists. A page that
  * contradicts the total is a mismatch: a total that is capped, or counts unlisted records, is not the end.
  *
  * Otherwise an idle list costs one request, and so does a full batch. Other searches pass the end in growing steps and
  * then narrow it down (Bentley and Yao, "An almost optimal algorithm for unbounded searching", 1976): n pages of new
  * records take about log n requests, each for one page.
  *
  * A refused page after a short one is the end. After a full one it may be, or the API limits how far it can be paged: the
  * end then needs the proof of [[Pagination.endCheck]], or a total. A 400 needs the former, even with a total: it may be the
  * same limit that caps the total.
  *
  * @param byTotal
  *   whether responses have the total number of records
  * @param count
  *   sends a request
  * @param mismatch
  *   makes the error of a response that contradicts the options, from its request and contents, worded to complete "it
  *   returned …"
  * @param selector
  *   what selects a page, in a message
  * @param refused
  *   makes the error of a refused page that does not prove the end
  */
final private[rest] class EndSearch(
    pagination: Pagination,
    byTotal: Boolean,
    count: PageRequest => Counted,
    mismatch: (PageRequest, String) => Throwable,
    selector: String,
    refused: (PageRequest, Refusal) => Throwable) {
  import EndSearch._

  private var memory = Memory()

  /** Searches once more.
    *
    * @param start
    *   number of delivered records
    * @param most
    *   the limit: without totals, the search ends once this many records after `start` are known to exist
    * @return
    *   exact unless the search reached its limit. If the list has lost records, `ends` is below `start`
    */
  def find(start: Long, most: Long): Extent = {
    val target = if (start > Long.MaxValue - most) Long.MaxValue else start + most
    val found = if (byTotal) stated(start) else proven(searched(start, target), start, target)
    memory = found.memory
    found.extent
  }

  /** Searches in three steps, and ends after the first that yields the result:
    *
    *   - if the last search reached its limit, the page of the last record within this limit: a full batch takes no
    *     more
    *   - the page at `start`: an idle list takes no more
    *   - a search between the two, or below `start` if the list has lost records
    */
  private def searched(start: Long, target: Long): Known = {
    val bounded = target < Long.MaxValue
    val nothing = Known(Extent(0), memory)
    val far = if (memory.full && bounded) ask(nothing, target - 1) else nothing
    val near = if (far.exists >= target || far.exact) far else probe(far, start)
    if (near.ends < start) search(near, near.ends, target, 1)
    else if (near.exists >= target || near.exact || memory.full || !bounded) search(near, target, target, 1)
    else search(ask(near, target - 1), target, target, 1)
  }

  /** Requests the page at `start`, which usually contains record `start - 1`, too, and so shows whether the list has
    * lost records. If it does not, that record takes a second request: on an idle list only, every `IdlePollsPerCheck`
    * polls. So does the proof that a refused page is past the end, which requests that record, too.
    */
  private def probe(known: Known, start: Long): Known = {
    val now = absorb(known, pagination.probe(start))
    if (now.exists >= start) now.idle(0)
    else if (now.ends < start) now
    else {
      val idle = now.idle(now.memory.idlePolls + 1)
      if (idle.memory.idlePolls % IdlePollsPerCheck != 1) idle.to(start, now.ends).copy(refusal = None)
      else if (idle.refusal.isDefined) idle.to(start, now.ends)
      else ask(idle, start - 1)
    }
  }

  /** Proves an end after which the server refuses a page: the page of [[Pagination.endCheck]] ends there. If it does not,
    * the list may just have changed, so the pages around the end are requested once more.
    *
    * @throws Throwable
    *   if the server still refuses the page, and no total is the end
    */
  private def proven(known: Known, start: Long, target: Long): Known = known.refusal match {
    case Some(refusal) if known.exact =>
      val end = known.ends
      def isTotal(known: Known) = refusal.status != 400 && known.totals.contains(end)
      val settled = known.copy(refusal = None)
      if (isTotal(known) || isChecked(end)) settled
      else {
        val again = ask(ask(Known(Extent(0), known.memory), end), end - 1)
        val isSame = again.exact && again.ends == end && again.refusal.isDefined
        if (isSame && !isTotal(again)) throw refused(pagination.request(end), again.refusal.get)
        else if (isSame) again.copy(refusal = None)
        else proven(search(again, if (again.ends < start) again.ends else target, target, 1), start, target)
      }
    case _ => known
  }

  /** Whether the page of [[Pagination.endCheck]] ends at `end`, or says that the list has changed. */
  private def isChecked(end: Long): Boolean = pagination.endCheck(end).exists { case (pages, first) =>
    attempt(pages.continueAt(first)).exists { page =>
      page.refusal.isEmpty && (page.records == end - first || page.total.exists(_ != end))
    }
  }

  private def attempt(request: PageRequest): Option[Counted] =
    try Some(count(request))
    catch { case error: EpochalException if Step.isNoProof(error) => None }

  /** Requests pages until the end is exact or record `target - 1` is known to exist: in growing steps while no end is
    * known, then halving the interval.
    *
    * @param limit
    *   the search counts as full ([[Memory.full]]) if so many records exist
    * @param step
    *   number of pages to advance while no end is known
    */
  @scala.annotation.tailrec
  private def search(known: Known, target: Long, limit: Long, step: Long): Known =
    if (known.exists >= target || known.exact) known.copy(memory = known.memory.copy(full = known.exists >= limit))
    else if (known.exists > Endless)
      throw mismatch(
        pagination.request(known.exists - 1),
        s"records, as at every position before: it ignores $selector, or repeats its last page")
    else if (known.ends == Long.MaxValue) {
      val pages = math.min(step, Endless / pagination.pageSize + 1) * pagination.pageSize
      val index = math.min(known.exists + pages - 1, target - 1)
      search(ask(known, index), target, limit, math.min(step * Growth, Endless))
    } else {
      val open = known.ends - known.exists
      val index = if (open <= pagination.pageSize) known.exists else known.exists + open / 2
      search(ask(known, index), target, limit, step)
    }

  private def ask(known: Known, index: Long): Known = absorb(known, pagination.request(index))

  /** Requests a page and adds its result: the records of a full page exist, the list ends before an empty page, and a
    * short page must be proven to be the last one.
    */
  private def absorb(before: Known, request: PageRequest): Known = {
    val page = plausiblePage(request)
    val known = if (page.totals.isEmpty) before else before.copy(totals = page.totals)
    if (page.records > request.size) throw mismatch(request, Plural.of(page.records, "record"))
    else if (page.records == request.size) {
      val exists = math.max(known.exists, request.end)
      known.to(exists, math.max(known.ends, exists))
    } else if (page.records > 0) {
      val (records, memory) = last(known.memory, request, page)
      Known(Extent(request.first + records, request.first + records), memory)
    } else {
      val refusal = if (request.first <= known.ends) page.refusal else known.refusal
      known
        .to(math.min(known.exists, request.first), math.min(known.ends, request.first))
        .copy(refusal = refusal)
    }
  }

  /** Requests a page; once more if it has no records, but says that there are some. */
  private def plausiblePage(request: PageRequest): Counted = {
    val page = count(request)
    if (page.more.isEmpty) page
    else {
      val again = count(request)
      again.more.foreach(says => throw mismatch(request, s"0 records, and says $says"))
      again
    }
  }

  /** Proves that a short page is the last one. It may not be: the server's pages may be smaller than `pageSize`. So the
    * page after it must be empty. This is checked for each short page that was not the last one in the previous search,
    * and every `IdlePollsPerCheck` searches for one that was: a list may end with just such a page, and grow later.
    *
    * @return
    *   the number of records on the last page
    */
  private def last(memory: Memory, request: PageRequest, page: Counted): (Long, Memory) = {
    val short = (request.first, page.records)
    if (pagination == Pagination.Whole) (page.records, memory)
    else if (memory.short == short && memory.trusted < IdlePollsPerCheck)
      (page.records, memory.copy(trusted = memory.trusted + 1))
    else {
      val byOffset = pagination.isInstanceOf[Pagination.ByOffset]
      val after = pagination.request(request.end)
      val follows = plausiblePage(if (byOffset) pagination.continueAt(request.first + page.records) else after)
      // A server whose pages begin at multiples of their size returns the short page once more.
      val isRepeated = byOffset && follows.copy(digests = Nil) == page.copy(digests = Nil)
      if ((if (isRepeated) plausiblePage(after) else follows).records == 0)
        (page.records, memory.copy(short = short, trusted = 0))
      else {
        val again = count(request).records // The list may just have grown.
        if (again <= page.records)
          throw mismatch(request, s"${Plural.of(page.records, "record")}, and has more after them")
        (math.min(again, request.size), memory)
      }
    }
  }

  /** The end according to the total. A page before it does not reveal a capped total, so the page that would have the next
    * record is requested: once for a list of several pages, and on an idle list that ends with a full page, where it may not
    * exist, every `IdlePollsPerCheck` polls. The first time any response will do that does not contradict the total.
    *
    * @throws Throwable
    *   if the page contradicts the total, or the server refuses it with 400, as one that cannot be paged to, and nothing
    *   proves the end
    */
  private def stated(start: Long): Known = {
    val request = pagination.request(math.max(0L, start - 1))
    val page = fitting(request)
    val total = page.total.getOrElse(left(request.first, page))
    val isFull = total > 0 && total % pagination.pageSize == 0
    val idle = if (isFull && total == start) memory.idlePolls + 1 else 0
    val next = pagination.request(total)
    val looks = idle == 0 && !memory.looked && next != request
    val after =
      if (idle % IdlePollsPerCheck == 1) Some(fitting(next))
      else if (looks)
        Try(count(next)).toOption.map(page =>
          (if (problem(next, page).isEmpty) page else fitting(next)).copy(total = None))
      else None
    val end = after.flatMap(_.refusal) match {
      case Some(_) if next.first < total                               => left(next.first, after.get)
      case Some(refusal) if refusal.status == 400 && !isChecked(total) => throw refused(next, refusal)
      case _                                                           => after.flatMap(_.total).getOrElse(total)
    }
    Known(Extent(end, end), memory.copy(looked = memory.looked || looks)).idle(idle)
  }

  /** Requests a page, once more if it contradicts its total: the list may change while the server counts and reads. */
  private def fitting(request: PageRequest): Counted = {
    val first = count(request)
    if (problem(request, first).isEmpty) first
    else {
      val second = count(request)
      problem(request, second).foreach(found => throw mismatch(request, found))
      second
    }
  }

  /** The number of remaining records, after a response without a body: the requested page is gone. The first page has
    * the total.
    *
    * @param before
    *   first record of the requested page
    * @param page
    *   the response
    */
  private def left(before: Long, page: Counted): Long = {
    val total = if (before == 0) 0L else count(pagination.request(0)).total.getOrElse(0L)
    if (total > before) {
      val found = page.refusal.fold("no page")(_.toString)
      throw mismatch(pagination.request(before), s"$found, and says that there are $total records in all")
    }
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

private object EndSearch {

  /** How rarely an idle list gets a request beyond the one that each poll needs: at the first idle poll, then at every
    * sixteenth.
    */
  private val IdlePollsPerCheck = 16

  private val Growth = 8L

  /** No list has so many records: a server that seems to have them returns the same page for every request. */
  private val Endless = 1L << 50

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
    * @param looked
    *   whether a page behind a total was requested
    */
  final private case class Memory(
      short: (Long, Long) = (0L, 0L),
      trusted: Int = 0,
      full: Boolean = false,
      idlePolls: Int = 0,
      looked: Boolean = false)

  /** The result of the requests so far.
    *
    * @param refusal
    *   the response to the request for the page at `ends`, if it is a refusal: the only evidence for that end
    * @param totals
    *   those of the latest response that has any
    */
  final private case class Known(
      extent: Extent,
      memory: Memory,
      refusal: Option[Refusal] = None,
      totals: Seq[Long] = Nil) {
    def exists: Long = extent.exists
    def ends: Long = extent.ends
    def exact: Boolean = extent.exact
    def to(exists: Long, ends: Long): Known = copy(extent = Extent(exists, ends))
    def idle(polls: Int): Known = copy(memory = memory.copy(idlePolls = polls))
  }
}
