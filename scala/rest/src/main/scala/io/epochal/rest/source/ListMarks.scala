package io.epochal.rest.source

import scala.collection.immutable.ListMap

/** Digests of records of a counted list: a delivered record whose digest has changed shows that the list has shifted.
  * Only pages that are requested anyway are compared, and only a few records of each. Immutable.
  *
  * @param of
  *   JSON Pointer within a record to the digested value; empty for the whole record
  * @param hasTotal
  *   whether responses have the list's length: each poll then compares the last record
  * @param digests
  *   the digests, the latest last
  * @param comparedRecords
  *   records that this run has compared
  */
final private[rest] case class ListMarks(
    of: String,
    hasTotal: Boolean,
    digests: ListMap[Long, String] = ListMap.empty,
    comparedRecords: Set[Long] = Set.empty,
    poll: ListMarks.Poll = ListMarks.Poll(0, 0)) {
  import ListMarks._

  /** Begins a poll of the list.
    *
    * @param start
    *   the first undelivered record
    * @param target
    *   the first record that this poll does not deliver
    * @param marks
    *   digests of records before `start`, from earlier runs
    */
  def begin(start: Long, target: Long, marks: Seq[Mark]): ListMarks = {
    val newPoll = copy(poll = Poll(start, target))
    val other = newPoll.waitingMarks(marks).filterNot(mark => digests.contains(mark.record))
    val all = digests ++ other.map(mark => mark.record -> mark.digest)
    newPoll.copy(digests = all, poll = newPoll.poll.copy(last = all.keys.filter(_ < start).maxOption))
  }

  /** The first record of this poll that differs from the delivered one. */
  def firstShift: Option[Long] = poll.firstShift

  /** The last record before this poll's start with a digest from before, unless this poll has compared it. */
  def last: Option[Long] = poll.last.filterNot(poll.records)

  /** Drops the digests from before this poll, after the list was replaced. */
  def forget(marks: Seq[Mark]): ListMarks =
    copy(
      digests = digests.filter { case (record, _) => poll.records(record) },
      comparedRecords = comparedRecords ++ marks.map(_.record))

  /** Marks that this run has not compared yet. */
  def waitingMarks(marks: Seq[Mark]): Seq[Mark] =
    marks.filter(mark => mark.of == of && mark.record < poll.start && !comparedRecords(mark.record))

  /** The marks of a position that ends before the record `end`: the last record seen, and a mark of an earlier position
    * that has not been compared since.
    */
  def at(end: Long, before: Seq[Mark]): Seq[Mark] = {
    val last = digests.keys.filter(_ < end).maxOption.map(record => Mark(record, digests(record), of))
    val waits = if (hasTotal) Nil else waitingMarks(before)
    val old = waits.find(mark => last.forall(_.record > mark.record))
    (old ++ last).toSeq
  }

  /** The records of a page to digest, in order.
    *
    * @param records
    *   number of records of the page
    */
  def candidates(request: PageRequest, records: Long): Seq[Long] = {
    val until = request.first + records
    (digests.keys ++ Seq(poll.start - 1, poll.target - 1, until - 1))
      .filter(record => record >= request.first && record < until)
      .toSeq
      .distinct
      .sorted
  }

  /** The marks after a response with digests. */
  def next(response: PageFacts): ListMarks = response.digests.foldLeft(this) { case (marks, (record, digest)) =>
    marks.compare(record, digest)
  }

  /** The marks after a 304 response: the page has not changed in this run. */
  def afterNotModified(request: PageRequest): ListMarks = {
    val end = math.min(request.end, poll.start)
    val same = digests.keySet.filter(record => record >= request.first && record < end)
    copy(comparedRecords = comparedRecords ++ same, poll = poll.copy(records = poll.records ++ same))
  }

  private def compare(record: Long, digest: String): ListMarks = {
    val isDelivered = record < poll.start
    val differs = isDelivered && digests.get(record).exists(_ != digest)
    val now = digests - record + (record -> digest)
    copy(
      digests = if (now.size > Remembered) now.drop(1) else now,
      comparedRecords = if (isDelivered) comparedRecords + record else comparedRecords,
      poll =
        poll.copy(records = poll.records + record, firstShift = poll.firstShift.orElse(Option.when(differs)(record))))
  }
}

private[rest] object ListMarks {

  /** The bounds and findings of one poll.
    *
    * @param last
    *   the last record before `start` that was seen before this poll
    */
  final case class Poll(
      start: Long,
      target: Long,
      records: Set[Long] = Set.empty,
      firstShift: Option[Long] = None,
      last: Option[Long] = None)

  /** Maximum number of digests. */
  private val Remembered = 16
}
