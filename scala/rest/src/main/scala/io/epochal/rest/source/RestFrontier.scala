package io.epochal.rest.source

import scala.util.Try

import org.slf4j.LoggerFactory

import io.epochal.core.error.Plural
import io.epochal.kit.record.{Body, ScannedPage}
import io.epochal.kit.source.Extent
import io.epochal.rest.http.{HttpClient, HttpCounters, HttpFailure, ResponseHead, Revalidation}

/** How many records a counted list has, as far as the driver has requested it: finds the end by an [[EndSearch]], and
  * compares the records with those delivered ([[ListMarks]]). Not thread-safe, except `known`.
  *
  * Records seen before are not requested again: records are only ever appended, and a task detects a record that is
  * gone. The exception is `verifyPosition`.
  */
final private[rest] class RestFrontier(options: RestOptions, counters: HttpCounters) extends AutoCloseable {
  import options.{errors, requests}

  private val log = LoggerFactory.getLogger(classOf[RestFrontier])

  /** Past the end of any counted list, and within 32 bits, for servers with such numbers. */
  final private val Far = 1L << 30

  private val client = new HttpClient(requests.http, counters)
  private val buffer = Body.ofPage()
  private val totalPointer = options.values.get(CountingOptions.TotalCount)
  private val totalHeader = options.values.get(CountingOptions.TotalCountHeader)
  private val hasTotal = totalPointer.nonEmpty || totalHeader.nonEmpty
  @volatile private var seen = Option.empty[Extent]
  private var contacted = false
  private var warned = false
  private val scan = requests.scan(totalPointer.toSeq)
  private val digests = new RecordDigests(requests)
  private var moves = false
  private var moved = false
  private val ends = new EndSearch(
    requests.pagination,
    hasTotal,
    count,
    errors.mismatch(_, _),
    requests.selector,
    (page, refusal) => errors.refused(page.requestText, refusal))
  private var listMarks = ListMarks(digests.of, hasTotal)
  private val verifies = options.values(CountingOptions.VerifyPosition)
  // With a journal, the API may return another record than the delivered one.
  private val isVerified =
    requests.pagination != Pagination.Whole && (verifies == "always" || verifies == "start" && !options.journal)
  private var total = Option.empty[Long]

  /** Whether the next poll verifies its position: it is this run's first one, or the total became smaller since the last. */
  private var unverified = true
  private def mustVerify: Boolean = isVerified && (unverified || verifies == "always")

  private val validators = new Revalidation[PageRequest, Counted](requests.revalidates)

  /** The result of the last poll; None before the first. */
  def known: Option[Extent] = seen

  /** The number of existing records, searched up to `most` after `start`. Never below `start`.
    *
    * @param known
    *   marks of records before `start`
    * @throws EpochalException
    *   unless `onDrift` allows it: DATA_LOSS if the API has fewer than `start` records, LIST_SHIFTED if one before it
    *   differs from the delivered one
    */
  def exists(start: Long, most: Long, known: Seq[Mark] = Nil): Long = {
    val target = if (start > Long.MaxValue - most) Long.MaxValue else start + most
    moved = false
    val found = seen.filter(_.exists >= target && !mustVerify).getOrElse {
      listMarks = listMarks.begin(start, target, known)
      val extent = ends.find(start, most)
      if (extent.exists <= start && extent.ends >= start && !hasTotal) compareOld(known)
      if (extent.ends >= start) verify()
      seen = Some(extent)
      val shift = listMarks.shifted
      if (extent.ends < start || shift.nonEmpty) listMarks = listMarks.forget(known)
      if (extent.ends < start) lost(extent.ends, start)
      else shift.foreach(shifted)
      if (!moves) moves = shownToMove(extent)
      extent
    }
    math.max(start, math.min(found.exists, target))
  }

  /** Whether the last poll found fewer records than `start`, or changed records before it. */
  def drifted(start: Long): Boolean = seen.exists(_.ends < start) || moved

  /** The marks of a position, for polls that continue from it.
    *
    * @param before
    *   those of the previous position
    */
  def marks(end: Long, before: Seq[Mark]): Seq[Mark] = listMarks.at(end, before)

  /** The marks of a position that tasks read up to, from the record `start` on. The page of its last record is requested if
    * no poll has done that: the next run must be able to verify the position.
    */
  def marksOfTasks(start: Long, end: Long, before: Seq[Mark]): Seq[Mark] = {
    if (end > start && isVerified && !listMarks.seen.contains(end - 1)) {
      listMarks = listMarks.begin(start, end, before)
      count(requests.pagination.request(end - 1)): Unit
      // That page may be the first one with a smaller total.
      if (unverified) verify()
      listMarks.shifted.foreach(shifted)
    }
    marks(end, before)
  }

  /** Verifies the position of a batch that this run replays before its first poll, and that its last record is still the one
    * that was planned. An unresponsive server is detected before tasks start.
    */
  def replay(start: RestPosition, end: RestPosition): Unit = if (!contacted) {
    val marks = end.marks ++ start.marks.filter(_.record < start.firstUntil(end))
    listMarks = listMarks.begin(end.records, end.records, marks)
    count(requests.pagination.request(end.records - 1)): Unit
    if (isVerified) compareOld(marks)
    unverified = !isVerified
    listMarks.shifted.foreach { record =>
      listMarks = listMarks.forget(marks)
      shifted(record)
    }
  }

  override def close(): Unit = client.close()

  /** Compares records that no requested page has contained, once per run. */
  private def compareOld(known: Seq[Mark]): Unit =
    listMarks.unchecked(known).map(mark => requests.pagination.request(mark.record)).distinct.foreach(count(_): Unit)

  /** Compares the last record before the position whose digest is known, unless this poll has. */
  private def verify(): Unit = {
    if (mustVerify)
      listMarks.last.map(requests.pagination.request).foreach(count(_): Unit)
    unverified = false
  }

  private def shifted(record: Long): Unit = {
    val reason = errors.shifted(record)
    moved = true
    log.warn(
      if (options.restarts) s"Reading the list from its first record again. $reason"
      else s"Resuming from here. $reason")
  }

  private def lost(has: Long, start: Long): Unit = {
    val reason = errors.drifted(has, start)
    val next =
      if (options.restarts) "Reading the list from its first record again"
      else s"Resuming when it has more than ${Plural.of(start, "record")} again"
    if (!warned) log.warn(s"$next. $reason")
    warned = !options.restarts
  }

  /** Detects an API that ignores the paging parameter and returns its first page forever. Checked once, as soon as two
    * pages have records. Two equal pages are no proof, so a page far past the end must equal them, too.
    */
  private def shownToMove(found: Extent): Boolean = {
    val step = requests.pagination.pageSize
    val last = found.exists - 1
    def at(index: Long) = records(requests.pagination.request(index), found.exists)
    if (last >= step) {
      val before = at(last - step)
      if (before.nonEmpty && before == at(last) && Try(at(Far)).toOption.contains(before))
        throw requests.samePage(alike(last - step, last, Far))
    }
    last >= step
  }

  private def alike(indexes: Long*): String = {
    val queries = indexes.map(index => requests.pageCall.query(requests.pagination.request(index))).filter(_.nonEmpty)
    s"for the pages with the records ${indexes.mkString(", ")}, counted from 0" +
      (if (queries.isEmpty) "" else queries.mkString(" (", ", ", ")"))
  }

  /** A digest of a response's records; None if it has none.
    *
    * @param total
    *   the length of the list
    */
  private def records(request: PageRequest, total: Long): Option[Long] =
    try
      client.call(if (hasTotal) requests.planned(request) else requests.call(request), buffer) { response =>
        response.refusal.filter(one => hasTotal && !requests.http.ignored.contains(one.status)).foreach { refusal =>
          throw errors.mismatch(request, s"$refusal, and says that there are $total records in all")
        }
        val scanned = scan.read(buffer)
        Option.when(scanned.records > 0)(digest(scanned))
      }
    finally buffer.close()

  private def digest(scanned: ScannedPage): Long = PageDigest.of(scan.blocks(scanned, buffer))

  private def count(request: PageRequest): Counted = {
    val call = requests.call(request).copy(unless = validators.validator(request))
    val (found, same) =
      try
        client.call(call, buffer, !contacted) { response =>
          (validators.read(request, response)(counted(request, response)), response.notModified)
        }
      finally buffer.close()
    contacted = true
    if (!same) note(found)
    listMarks = if (same && isUsual(request)) listMarks.unchanged(request) else listMarks.next(found)
    found
  }

  /** Remembers the length of the list, where a response has it. */
  private def note(found: Counted): Unit = found.total.orElse(found.totals.maxOption).foreach { now =>
    unverified ||= total.exists(_ > now)
    total = Some(now)
  }

  /** Whether a page has the usual size: a server with one size returns other records than a check asks for. */
  private def isUsual(request: PageRequest): Boolean = request.size == requests.pagination.pageSize

  private def counted(request: PageRequest, response: ResponseHead): Counted = {
    val scanned = scan.read(buffer)
    val records = scanned.records.toLong
    if (requests.pagination == Pagination.Whole && !requests.end.assumed)
      WholeList.contradiction(response, scanned).foreach(part => throw errors.incomplete(records, part))
    val inBody = totalPointer.map(at => s"'$at'" -> scanned.values.get(at).flatten)
    val stated = inBody.orElse(totalHeader.map(name => s"the header $name" -> response.header(name)))
    val isSilent = buffer.absent || records == 0 && stated.exists(_._2.isEmpty)
    val totalCount = stated.filterNot(_ => isSilent).map { case (place, text) => total(request, place, text) }
    val content = requests.pagination match {
      case _: Pagination.ByOffset if records > 0 => digest(scanned)
      case _                                     => 0L
    }
    val isPlaced = records > 0 && records <= request.size && totalCount.forall(_ >= request.first + records)
    val compared = if (isUsual(request) && isPlaced) listMarks.candidates(request, records) else Nil
    val totals = if (hasTotal) Nil else WholeList.totals(response, scanned)
    val mayEnd = hasTotal || records > 0 || response.refusal.nonEmpty || requests.end.assumed || !isUsual(request)
    val more = if (mayEnd) None else WholeList.more(response, scanned, request)
    Counted(records, totalCount, content, digests.read(buffer, request.first, compared), response.refusal, totals, more)
  }

  private def total(request: PageRequest, place: String, text: Option[String]): Long = {
    def mismatch(found: String) = errors.mismatch(request, found)
    val number = text.getOrElse(throw mismatch(s"a response that does not say at $place how many records there are"))
    number.trim.toLongOption
      .filter(_ >= 0)
      .getOrElse(throw mismatch(s"'${HttpFailure.shown(number.trim)}' at $place, which is no number of records"))
  }
}
