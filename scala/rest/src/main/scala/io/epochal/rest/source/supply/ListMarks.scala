package io.epochal.rest.source.supply

import scala.collection.immutable.ListMap
import scala.util.Try

import com.fasterxml.jackson.databind.json.JsonMapper
import com.fasterxml.jackson.databind.{DeserializationFeature, SerializationFeature}

import io.epochal.core.hash.Sha256
import io.epochal.kit.json.Json
import io.epochal.kit.record.{Body, RecordFormat}
import io.epochal.rest.source.paging.{Mark, PageRequest, RestOptions}

/** Digests of records of a counted list: a record that was delivered, and has another digest now, shows that the list has shifted.
  * Only pages that are requested anyway are compared, and of each only a few records. An immutable value.
  *
  * @param of
  *   JSON Pointer within a record to what the digests are of; empty for all of it
  * @param totalled
  *   whether responses say how long the list is: each poll then compares the last record
  * @param seen
  *   the digests, the latest last
  * @param checked
  *   records that this run has compared
  */
final private[rest] case class ListMarks(
    of: String,
    totalled: Boolean,
    seen: ListMap[Long, String] = ListMap.empty,
    checked: Set[Long] = Set.empty,
    poll: ListMarks.Poll = ListMarks.Poll(0, 0)) {
  import ListMarks._

  /** Begins a poll of the list.
    *
    * @param start
    *   the records before it were delivered
    * @param target
    *   no records from there on will be delivered
    * @param marks
    *   digests of records before `start`, as other runs have seen them
    */
  def begin(start: Long, target: Long, marks: Seq[Mark]): ListMarks = {
    val begun = copy(poll = Poll(start, target))
    val other = begun.unchecked(marks).filterNot(mark => seen.contains(mark.record))
    begun.copy(seen = seen ++ other.map(mark => mark.record -> mark.digest))
  }

  /** The first record of this poll that differs from the one delivered. */
  def shifted: Option[Long] = poll.shifted

  /** The list is another one now: digests that this poll has not seen no longer count. */
  def forget(marks: Seq[Mark]): ListMarks =
    copy(seen = seen.filter { case (record, _) => poll.seen(record) }, checked = checked ++ marks.map(_.record))

  /** Marks that this run has not compared yet. */
  def unchecked(marks: Seq[Mark]): Seq[Mark] =
    marks.filter(mark => mark.of == of && mark.record < poll.start && !checked(mark.record))

  /** The marks of a position that ends before the record `end`: the last record seen, and a mark of an earlier position that was
    * not compared since.
    */
  def at(end: Long, before: Seq[Mark]): Seq[Mark] = {
    val last = seen.keys.filter(_ < end).maxOption.map(record => Mark(record, seen(record), of))
    val waits = if (totalled) Nil else unchecked(before)
    val old = waits.find(mark => last.forall(_.record > mark.record))
    (old ++ last).toSeq
  }

  /** The records of a page whose digests are wanted, in order.
    *
    * @param records
    *   how many the page has
    */
  def wanted(request: PageRequest, records: Long): Seq[Long] = {
    val until = request.first + records
    (seen.keys ++ Seq(poll.start - 1, poll.target - 1, until - 1))
      .filter(record => record >= request.first && record < until)
      .toSeq
      .distinct
      .sorted
  }

  /** After a response with digests. */
  def next(response: Counted): ListMarks = response.digests.foldLeft(this) { case (marks, (record, digest)) =>
    marks.compared(record, digest)
  }

  /** After a response that says that the page has not changed in this run. */
  def unchanged(request: PageRequest): ListMarks = {
    val end = math.min(request.end, poll.start)
    copy(checked = checked ++ seen.keys.filter(record => record >= request.first && record < end))
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

  /** What one poll has seen. */
  final case class Poll(start: Long, target: Long, seen: Set[Long] = Set.empty, shifted: Option[Long] = None)

  /** Digests that are held. */
  private val Remembered = 16
}

/** Digests of records, for [[ListMarks]]. */
final private class RecordDigests(options: RestOptions) {
  private val of = options.counting.key.getOrElse("")

  /** Of the records with these numbers, in order, of a page that begins with the record `first`. */
  def read(body: Body, first: Long, numbers: Seq[Long]): Seq[(Long, String)] = if (numbers.isEmpty) Nil
  else {
    val records = options.rules.format.open(body, options.place)
    var at = first
    numbers.map { number =>
      val _ = records.skip(number - at)
      records.next(): Unit
      records.pass()
      at = number + 1
      number -> digest(records.bytes)
    }
  }

  private def digest(record: Array[Byte]): String = {
    val described = options.rules.format match {
      case _: RecordFormat.Csv => record
      case _                   => Try(canonical(record)).getOrElse(record)
    }
    Sha256.hex(described, 8)
  }

  /** The same for records that differ only in white space, escapes and the order of their fields. */
  private def canonical(record: Array[Byte]): Array[Byte] = {
    val whole = RecordDigests.mapper.readTree(record)
    val key = whole.at(of)
    val value = if (key.isMissingNode) whole else key
    RecordDigests.mapper.writeValueAsBytes(RecordDigests.mapper.treeToValue(value, classOf[Object]))
  }
}

private object RecordDigests {
  private val mapper = JsonMapper
    .builder(Json.trees)
    .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
    .enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS)
    .build()
}
