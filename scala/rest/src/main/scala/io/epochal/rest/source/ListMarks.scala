package io.epochal.rest.source

import scala.collection.immutable.ListMap

/** Digests of records of a counted list: a delivered record whose digest has changed shows that the list has shifted.
  * Only pages that are requested anyway are compared, and only a few records of each. Immutable.
  *
  * @param of
  *   JSON Pointer within a record to the digested value; empty for the whole record
  * @param hasTotal
  *   whether responses have the list's length: each poll then compares the last record
  * @param seen
  *   the digests, the latest last
  * @param checked
  *   records that this run has compared
  */
final private[rest] case class ListMarks(
    of: String,
    hasTotal: Boolean,
    seen: ListMap[Long, String] = ListMap.empty,
    checked: Set[Long] = Set.empty,
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
    val begun = copy(poll = Poll(start, target))
    val other = begun.unchecked(marks).filterNot(mark => seen.contains(mark.record))
    val all = seen ++ other.map(mark => mark.record -> mark.digest)
    begun.copy(seen = all, poll = begun.poll.copy(last = all.keys.filter(_ < start).maxOption))
  }

  /** The first record of this poll that differs from the delivered one. */
  def shifted: Option[Long] = poll.shifted

  /** The last record before this poll's start that was seen before it, unless this poll has compared that. */
  def last: Option[Long] = poll.last.filterNot(poll.seen)

  /** Drops the digests from before this poll, after the list was replaced. */
  def forget(marks: Seq[Mark]): ListMarks =
    copy(seen = seen.filter { case (record, _) => poll.seen(record) }, checked = checked ++ marks.map(_.record))

  /** Marks that this run has not compared yet. */
  def unchecked(marks: Seq[Mark]): Seq[Mark] =
    marks.filter(mark => mark.of == of && mark.record < poll.start && !checked(mark.record))

  /** The marks of a position that ends before the record `end`: the last record seen, and a mark of an earlier position
    * that has not been compared since.
    */
  def at(end: Long, before: Seq[Mark]): Seq[Mark] = {
    val last = seen.keys.filter(_ < end).maxOption.map(record => Mark(record, seen(record), of))
    val waits = if (hasTotal) Nil else unchecked(before)
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
    (seen.keys ++ Seq(poll.start - 1, poll.target - 1, until - 1))
      .filter(record => record >= request.first && record < until)
      .toSeq
      .distinct
      .sorted
  }

  /** The marks after a response with digests. */
  def next(response: Counted): ListMarks = response.digests.foldLeft(this) { case (marks, (record, digest)) =>
    marks.compared(record, digest)
  }

  /** The marks after a 304 response: the page has not changed in this run. */
  def unchanged(request: PageRequest): ListMarks = {
    val end = math.min(request.end, poll.start)
    val same = seen.keySet.filter(record => record >= request.first && record < end)
    copy(checked = checked ++ same, poll = poll.copy(seen = poll.seen ++ same))
  }

  private def compared(record: Long, digest: String): ListMarks = {
    val delivered = record < poll.start
    val differs = delivered && seen.get(record).exists(_ != digest)
    val now = seen - record + (record -> digest)
    copy(
      seen = if (now.size > Remembered) now.drop(1) else now,
      checked = if (delivered) checked + record else checked,
      poll = poll.copy(seen = poll.seen + record, shifted = poll.shifted.orElse(Option.when(differs)(record))))
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
      seen: Set[Long] = Set.empty,
      shifted: Option[Long] = None,
      last: Option[Long] = None)

  /** Maximum number of digests. */
  private val Remembered = 16
}
