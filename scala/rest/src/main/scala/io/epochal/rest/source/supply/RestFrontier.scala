package io.epochal.rest.source.supply

import scala.util.Try

import org.slf4j.LoggerFactory

import io.epochal.core.error.Plural
import io.epochal.kit.record.{Body, RecordFormat, ScannedPage}
import io.epochal.kit.source.Extent
import io.epochal.rest.http.HttpClient
import io.epochal.rest.http.request.{HttpCounters, HttpFailure, ResponseHead, Revalidation}
import io.epochal.rest.source.page.PageDigest
import io.epochal.rest.source.paging.{Mark, PageRequest, Pagination, RestOptions, TotalFrom, WholeList}

/** How many records a counted list has, as far as the driver has requested it: sends the requests of an [[EndSearch]],
  * and compares the records with those delivered ([[ListMarks]]). Not thread-safe, except `known`.
  *
  * Records seen before are not requested again: records are only ever appended, and a task detects a record that is
  * gone.
  */
final private[rest] class RestFrontier(options: RestOptions, counters: HttpCounters) extends AutoCloseable {
  private val client = new HttpClient(options.http, counters)
  private val buffer = Body.ofPage()
  private val totalled = options.counting.total.nonEmpty
  @volatile private var seen = Option.empty[Extent]
  private var contacted = false
  private var warned = false
  private val scan = options.scan(options.counting.inBody.toSeq)
  private val digests = new RecordDigests(options)
  private var moves = false
  private var moved = false
  private var memory = EndMemory()
  private var listMarks = ListMarks(options.counting.key.getOrElse(""), totalled)
  private val validators = new Revalidation[PageRequest, Counted](options.revalidates)

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
    val found = seen.filter(_.exists >= target).getOrElse {
      listMarks = listMarks.begin(start, target, known)
      val extent = search(EndSearch.begin(options.pagination, totalled, memory, start, most))
      if (extent.exists <= start && extent.ends >= start && !totalled) compareOld(known)
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

  /** Requests the page of a record, so that an unresponsive server is detected before tasks start. */
  def contact(record: Long): Unit =
    if (!contacted) {
      val _ = count(options.pagination.request(record))
    }

  override def close(): Unit = client.close()

  @scala.annotation.tailrec
  private def search(step: EndSearch): Extent = step match {
    case ask: EndSearch.Ask                 => search(ask.next(count(ask.request)))
    case EndSearch.Mismatch(request, found) => throw options.mismatch(request, found)
    case EndSearch.Found(extent, after) =>
      memory = after
      extent
  }

  /** After a poll without new records: compares records that no requested page has contained, once per run. */
  private def compareOld(known: Seq[Mark]): Unit =
    listMarks.unchecked(known).map(mark => options.pagination.request(mark.record)).distinct.foreach { request =>
      val _ = count(request)
    }

  private def shifted(record: Long): Unit = {
    val reason = options.shifted(record)
    moved = true
    RestFrontier.log.warn(
      if (options.restarts) s"Reading the list from its first record again. $reason"
      else s"Resuming from here. $reason")
  }

  private def lost(has: Long, start: Long): Unit = {
    val reason = options.drifted(has, start)
    val next =
      if (options.restarts) "Reading the list from its first record again"
      else s"Resuming when it has more than ${Plural.of(start, "record")} again"
    if (!warned) RestFrontier.log.warn(s"$next. $reason")
    warned = !options.restarts
  }

  /** Detects an API that ignores the paging parameter and returns its first page forever. Checked once, as soon as two
    * pages have records. Two equal pages are no proof, so a page far past the end must equal them, too.
    */
  private def shownToMove(found: Extent): Boolean = {
    val step = options.pagination.pageSize
    val last = found.exists - 1
    def at(index: Long) = records(options.pagination.request(index))
    if (last >= step) {
      val before = at(last - step)
      if (before == at(last) && Try(at(RestFrontier.Far)).toOption.contains(before))
        throw options.mismatch(alike(last - step, last, RestFrontier.Far), "the same page for every request")
    }
    last >= step
  }

  private def alike(indexes: Long*): String = {
    val queries = indexes.map(index => options.pageCall.query(options.pagination.request(index))).filter(_.nonEmpty)
    s"for the pages with the records ${indexes.mkString(", ")}, counted from 0" +
      (if (queries.isEmpty) "" else queries.mkString(" (", ", ", ")"))
  }

  /** A digest of a response's records; None if it has none. */
  private def records(request: PageRequest): Option[Long] =
    try
      client.call(options.call(request), buffer) { _ =>
        options.rules.format match {
          case _: RecordFormat.Json =>
            val scanned = scan.read(buffer)
            Option.when(scanned.records > 0)(PageDigest.of(scan.blocks(scanned, buffer)))
          case other => Option.when(other.count(buffer, options.place) > 0)(PageDigest.of(buffer))
        }
      }
    finally buffer.close()

  private def count(request: PageRequest): Counted = {
    val call = options.call(request).copy(unless = validators.validator(request))
    val (found, same) =
      try
        client.call(call, buffer, !contacted) { response =>
          (validators.read(request, response)(counted(request, response)), response.notModified)
        }
      finally buffer.close()
    contacted = true
    listMarks = if (same) listMarks.unchanged(request) else listMarks.next(found)
    found
  }

  private def counted(request: PageRequest, response: ResponseHead): Counted = {
    val inPlace = buffer.absent || buffer.isUtf8
    val scanned =
      if (inPlace || options.counting.inBody.nonEmpty) scan.read(buffer)
      else ScannedPage.nothing.copy(records = options.rules.format.count(buffer, options.place).toInt)
    val records = scanned.records.toLong
    if (options.pagination == Pagination.Whole && !options.endAssumed)
      WholeList.contradiction(response, scanned).foreach(part => throw options.incomplete(records, part))
    val totalCount = options.counting.total.flatMap {
      case from @ TotalFrom.Body(pointer) => total(request, from, scanned.values.get(pointer).flatten)
      case from @ TotalFrom.Header(name)  => total(request, from, response.header(name))
    }
    val content = options.pagination match {
      case _: Pagination.ByOffset if records > 0 =>
        if (inPlace) PageDigest.of(scan.blocks(scanned, buffer)) else PageDigest.of(buffer)
      case _ => 0L
    }
    val compared = if (records > 0 && records <= request.size) listMarks.candidates(request, records) else Nil
    Counted(records, totalCount, content, digests.read(buffer, request.first, compared))
  }

  private def total(request: PageRequest, from: TotalFrom, text: Option[String]): Option[Long] =
    if (buffer.absent) None
    else
      text.map(_.trim) match {
        case None =>
          throw options.mismatch(request, s"a response that does not say at ${from.place} how many records there are")
        case Some(number) =>
          number.toLongOption
            .filter(_ >= 0)
            .orElse(throw options
              .mismatch(request, s"'${HttpFailure.shown(number)}' at ${from.place}, which is no number of records"))
      }
}

private object RestFrontier {
  private val log = LoggerFactory.getLogger(classOf[RestFrontier])

  /** Past the end of any counted list, and within 32 bits, for servers with such numbers. */
  private val Far = 1L << 30
}
