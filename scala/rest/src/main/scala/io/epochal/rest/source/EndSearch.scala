package io.epochal.rest.source

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
  * @param attempt
  *   requests a page; None after a failure that is tolerated
  */
final private[rest] class EndSearch(
    list: ListRequests,
    byTotal: Boolean,
    attempt: (PageRequest, EpochalException => Boolean) => ListStep[Option[PageFacts]]) {
  import EndSearch._
  import ListStep.{of, refuse, result, unless, update}
  import list.{errors, pagination}

  /** Searches once more.
    *
    * @param start
    *   number of delivered records
    * @param most
    *   the limit: without totals, the search ends once this many records after `start` are known to exist
    * @return
    *   exact unless the search reached its limit. If the list has lost records, `ends` is below `start`
    */
  def find(start: Long, most: Long): ListStep[Extent] = {
    val target = if (start > Long.MaxValue - most) Long.MaxValue else start + most
    if (byTotal) ofTotal(start) else search(start, target).flatMap(prove(_, start, target)).map(_.extent)
  }

  /** Searches in three steps, and ends after the first that yields the result:
    *
    *   - if the last search reached its limit, the page of the last record within this limit: a full batch takes no
    *     more
    *   - the page at `start`: an idle list takes no more
    *   - a search between the two, or below `start` if the list has lost records
    */
  private def search(start: Long, target: Long): ListStep[Bounds] = {
    val isLimited = target < Long.MaxValue
    for {
      wasFull <- of(_.isFull)
      far <- if (wasFull && isLimited) ask(Bounds(), target - 1) else result(Bounds())
      near <- if (far.exists >= target || far.exact) result(far) else probe(far, start)
      bounds <-
        if (near.ends < start) narrow(near, near.ends, target, 1)
        else if (near.exists >= target || near.exact || wasFull || !isLimited) narrow(near, target, target, 1)
        else ask(near, target - 1).flatMap(narrow(_, target, target, 1))
    } yield bounds
  }

  /** Requests the page at `start`, which usually contains record `start - 1`, too, and so shows whether the list has
    * lost records. If it does not, that record takes a second request: on an idle list only, every `IdlePollsPerCheck`
    * polls. So does the proof that a refused page is past the end, which requests that record, too.
    */
  private def probe(bounds: Bounds, start: Long): ListStep[Bounds] = absorb(bounds, pagination.probe(start)).flatMap {
    now =>
      if (now.exists >= start) update(_.copy(idlePolls = 0)).map(_ => now)
      else if (now.ends < start) result(now)
      else
        for {
          _ <- update(before => before.copy(idlePolls = before.idlePolls + 1))
          polls <- of(_.idlePolls)
          next <-
            if (polls % IdlePollsPerCheck != 1) result(now.to(start, now.ends).copy(refusal = None))
            else if (now.refusal.isDefined) result(now.to(start, now.ends))
            else ask(now, start - 1)
        } yield next
  }

  /** Proves an end after which the server refuses a page: the page of [[Pagination.endCheck]] ends there. If it does not,
    * the list may just have changed, so the pages around the end are requested once more. Refuses, if the server still
    * refuses the page, and no total is the end.
    */
  private def prove(bounds: Bounds, start: Long, target: Long): ListStep[Bounds] = bounds.refusal match {
    case Some(refusal) if bounds.exact =>
      val end = bounds.ends
      def isTotal(bounds: Bounds) = refusal.status != 400 && bounds.totals.contains(end)
      def proveAgain = for {
        page <- ask(Bounds(), end)
        again <- ask(page, end - 1)
        isSame = again.exact && again.ends == end && again.refusal.isDefined
        last <-
          if (isSame && !isTotal(again)) refuse(refusalOf(pagination.request(end), again.refusal.get))
          else if (isSame) result(again.copy(refusal = None))
          else
            narrow(again, if (again.ends < start) again.ends else target, target, 1).flatMap(prove(_, start, target))
      } yield last
      for {
        isProven <- if (isTotal(bounds)) result(true) else isChecked(end)
        last <- if (isProven) result(bounds.copy(refusal = None)) else proveAgain
      } yield last
    case _ => result(bounds)
  }

  /** Whether the page of [[Pagination.endCheck]] ends at `end`, or says that the list has changed. */
  private def isChecked(end: Long): ListStep[Boolean] = pagination.endCheck(end) match {
    case None => result(false)
    case Some((pages, first)) =>
      attempt(pages.continueAt(first), Step.isNoProof).map(_.exists { page =>
        page.refusal.isEmpty && (page.records == end - first || page.total.exists(_ != end))
      })
  }

  private def count(request: PageRequest): ListStep[PageFacts] = attempt(request, _ => false).map(_.get)

  /** Requests pages until the end is exact or record `target - 1` is known to exist: in growing steps while no end is
    * known, then halving the interval.
    *
    * @param limit
    *   the search counts as full ([[CountedState.isFull]]) if so many records exist
    * @param step
    *   number of pages to advance while no end is known
    */
  private def narrow(bounds: Bounds, target: Long, limit: Long, step: Long): ListStep[Bounds] =
    if (bounds.exists >= target || bounds.exact) update(_.copy(isFull = bounds.exists >= limit)).map(_ => bounds)
    else if (bounds.exists > Endless) {
      val problem = s"records, as at every position before: it ignores ${list.selector}, or repeats its last page"
      refuse(errors.mismatch(pagination.request(bounds.exists - 1), problem))
    } else if (bounds.ends == Long.MaxValue) {
      val pages = math.min(step, Endless / pagination.pageSize + 1) * pagination.pageSize
      val index = math.min(bounds.exists + pages - 1, target - 1)
      ask(bounds, index).flatMap(narrow(_, target, limit, math.min(step * Growth, Endless)))
    } else {
      val open = bounds.ends - bounds.exists
      val index = if (open <= pagination.pageSize) bounds.exists else bounds.exists + open / 2
      ask(bounds, index).flatMap(narrow(_, target, limit, step))
    }

  private def ask(bounds: Bounds, index: Long): ListStep[Bounds] = absorb(bounds, pagination.request(index))

  /** Requests a page and adds its result: the records of a full page exist, the list ends before an empty page, and a
    * short page must be proven to be the last one.
    */
  private def absorb(before: Bounds, request: PageRequest): ListStep[Bounds] = plausiblePage(request).flatMap { page =>
    val bounds = if (page.totals.isEmpty) before else before.copy(totals = page.totals)
    if (page.records > request.size) refuse(errors.mismatch(request, Plural.of(page.records, "record")))
    else if (page.records == request.size) {
      val exists = math.max(bounds.exists, request.end)
      result(bounds.to(exists, math.max(bounds.ends, exists)))
    } else if (page.records > 0)
      last(request, page).map(records => Bounds(Extent(request.first + records, request.first + records)))
    else {
      val refusal = if (request.first <= bounds.ends) page.refusal else bounds.refusal
      result(
        bounds
          .to(math.min(bounds.exists, request.first), math.min(bounds.ends, request.first))
          .copy(refusal = refusal))
    }
  }

  /** Requests a page; once more if it has no records, but says that there are some. */
  private def plausiblePage(request: PageRequest): ListStep[PageFacts] =
    without(request)(_.more.map(says => s"0 records, and says $says"))

  /** Requests a page, once more if it has a problem: the list may have changed. Refuses if that has one, too. */
  private def without(request: PageRequest)(problem: PageFacts => Option[String]): ListStep[PageFacts] =
    count(request).flatMap { first =>
      if (problem(first).isEmpty) result(first)
      else count(request).flatMap(page => unless(problem(page).map(errors.mismatch(request, _))).map(_ => page))
    }

  private def refusalOf(page: PageRequest, response: Refusal): EpochalException =
    errors.pageRefusal(page.requestText, response)

  /** Proves that a short page is the last one. It may not be: the server's pages may be smaller than `pageSize`. So the
    * page after it must be empty. This is checked for each short page that was not the last one in the previous search,
    * and every `IdlePollsPerCheck` searches for one that was: a list may end with just such a page, and grow later.
    *
    * @return
    *   the number of records on the last page
    */
  private def last(request: PageRequest, page: PageFacts): ListStep[Long] = {
    val short = (request.first, page.records)
    val byOffset = pagination.isInstanceOf[Pagination.ByOffset]
    val after = pagination.request(request.end)
    def proof = for {
      next <- plausiblePage(if (byOffset) pagination.continueAt(request.first + page.records) else after)
      // A server whose pages begin at multiples of their size returns the short page once more.
      isRepeated = byOffset && next.copy(digests = Nil) == page.copy(digests = Nil)
      behind <- if (isRepeated) plausiblePage(after) else result(next)
      records <-
        if (behind.records == 0) update(_.copy(shortPage = short, shortPageUses = 0)).map(_ => page.records)
        else
          count(request).flatMap { again => // The list may just have grown.
            if (again.records > page.records) result(math.min(again.records, request.size))
            else refuse(errors.mismatch(request, s"${Plural.of(page.records, "record")}, and has more after them"))
          }
    } yield records
    of(identity).flatMap { before =>
      if (pagination == Pagination.Whole) result(page.records)
      else if (before.shortPage == short && before.shortPageUses < IdlePollsPerCheck)
        update(_.copy(shortPageUses = before.shortPageUses + 1)).map(_ => page.records)
      else proof
    }
  }

  /** The end according to the total. A page before it does not reveal a capped total, so the page that would have the next
    * record is requested: once for a list of several pages, and on an idle list that ends with a full page, where it may not
    * exist, every `IdlePollsPerCheck` polls. The first time any response will do that does not contradict the total.
    *
    * Refuses, if the page contradicts the total, or the server refuses it with 400, as one that cannot be paged to, and
    * nothing proves the end.
    */
  private def ofTotal(start: Long): ListStep[Extent] = {
    val request = pagination.request(math.max(0L, start - 1))
    for {
      before <- of(identity)
      page <- fitting(request)
      total <- page.total.fold(left(request.first, page))(result)
      isFull = total > 0 && total % pagination.pageSize == 0
      idle = if (isFull && total == start) before.idlePolls + 1 else 0
      next = pagination.request(total)
      looks = idle == 0 && !before.isTotalChecked && next != request
      after <-
        if (idle % IdlePollsPerCheck == 1) fitting(next).map(Option(_))
        else if (looks) look(next)
        else result(None)
      end <- after.flatMap(_.refusal) match {
        case Some(_) if next.first < total => left(next.first, after.get)
        case Some(refusal) if refusal.status == 400 =>
          isChecked(total).flatMap(isEnd => unless(Option.when(!isEnd)(refusalOf(next, refusal)))).map(_ => total)
        case _ => result(after.flatMap(_.total).getOrElse(total))
      }
      _ <- update(_.copy(isTotalChecked = before.isTotalChecked || looks, idlePolls = idle))
    } yield Extent(end, end)
  }

  /** Requests the page after the total; None if that fails. */
  private def look(request: PageRequest): ListStep[Option[PageFacts]] = attempt(request, _ => true).flatMap {
    case Some(page) if problem(request, page).nonEmpty => fitting(request).map(other => Some(other.copy(total = None)))
    case page                                          => result(page.map(_.copy(total = None)))
  }

  /** Requests a page, once more if it contradicts its total: the list may change while the server counts and reads. */
  private def fitting(request: PageRequest): ListStep[PageFacts] = without(request)(problem(request, _))

  /** The number of remaining records, after a response without a body: the requested page is gone. The first page has
    * the total.
    *
    * @param before
    *   first record of the requested page
    * @param page
    *   the response
    */
  private def left(before: Long, page: PageFacts): ListStep[Long] =
    for {
      total <- if (before == 0) result(0L) else count(pagination.request(0)).map(_.total.getOrElse(0L))
      response = page.refusal.fold("no page")(_.toString)
      _ <- unless(Option.when(total > before) {
        errors.mismatch(pagination.request(before), s"$response, and says that there are $total records in all")
      })
    } yield total

  private def problem(request: PageRequest, page: PageFacts): Option[String] = {
    val end = request.first + page.records
    page.total match {
      case _ if page.records > request.size => Some(Plural.of(page.records, "record"))
      case Some(total) if page.records > 0 && end > total || end < math.min(request.end, total) =>
        Some(s"${Plural.of(page.records, "record")}, and says that there are $total in all")
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

  /** The result of the requests so far.
    *
    * @param refusal
    *   the response to the request for the page at `ends`, if it is a refusal: the only evidence for that end
    * @param totals
    *   those of the latest response that has any
    */
  final private case class Bounds(
      extent: Extent = Extent(0),
      refusal: Option[Refusal] = None,
      totals: Seq[Long] = Nil) {
    def exists: Long = extent.exists
    def ends: Long = extent.ends
    def exact: Boolean = extent.exact
    def to(exists: Long, ends: Long): Bounds = copy(extent = Extent(exists, ends))
  }
}
