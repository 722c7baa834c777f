package io.epochal.rest.source.supply

import scala.collection.mutable
import scala.util.Try

import com.fasterxml.jackson.databind.json.JsonMapper
import com.fasterxml.jackson.databind.{DeserializationFeature, SerializationFeature}

import io.epochal.core.hash.Sha256
import io.epochal.kit.json.Json
import io.epochal.kit.record.{Body, RecordFormat}
import io.epochal.rest.source.paging.{Mark, PageRequest, RestOptions}

/** What was seen of the records of a counted list: one that was delivered, and is another record now, shows that the list has
  * shifted. Only pages that are asked for anyway are compared, and of each but a few records. One thread at a time.
  */
final private[rest] class ListMarks(options: RestOptions) {
  import ListMarks._

  private val of = options.counting.key.getOrElse("")
  private val seen = mutable.LinkedHashMap.empty[Long, String]
  private val checked = mutable.Set.empty[Long]
  private val here = mutable.Set.empty[Long]
  private var start = 0L
  private var wanted = Seq.empty[Long]
  private var moved = Option.empty[Long]

  /** Begins a poll of the list.
    *
    * @param start
    *   the records before it were delivered
    * @param target
    *   no more than those before it will be
    * @param marks
    *   what other runs saw of records before `start`
    */
  def begin(start: Long, target: Long, marks: Seq[Mark]): Unit = {
    this.start = start
    wanted = Seq(start - 1, target - 1)
    moved = None
    here.clear()
    unchecked(marks).filterNot(mark => seen.contains(mark.record)).foreach(mark => seen(mark.record) = mark.digest)
  }

  /** The first record found to be another one than was delivered, in this poll. */
  def shifted: Option[Long] = moved

  /** The list is another one now: what this poll has not seen counts no more. */
  def forget(marks: Seq[Mark]): Unit = {
    seen.filterInPlace((record, _) => here(record))
    checked ++= marks.map(_.record)
  }

  /** Marks that nobody has compared in this run. */
  def unchecked(marks: Seq[Mark]): Seq[Mark] = comparable(marks).filterNot(mark => checked(mark.record))

  /** What is to be known about a position that ends before the record `end`: the last record seen, and what was not compared
    * since an earlier position. Where a total says where the end is, each poll compares the last record.
    */
  def at(end: Long, before: Seq[Mark]): Seq[Mark] = {
    val last = seen.keys.filter(_ < end).maxOption.map(record => Mark(record, seen(record), of))
    val waits = if (options.counting.total.isEmpty) unchecked(before) else Nil
    val old = waits.find(mark => last.forall(_.record > mark.record))
    (old ++ last).toSeq
  }

  /** Compares a page that came with what was delivered. */
  def compare(request: PageRequest, records: Long, body: Body): Unit = {
    val until = request.first + records
    val compared = (seen.keys ++ wanted ++ Seq(until - 1)).filter(record => record >= request.first && record < until)
    digests(body, compared.map(_ - request.first).toSeq.distinct.sorted).foreach { case (index, digest) =>
      compare(request.first + index, digest)
    }
  }

  /** The page is the same as it was before in this run. */
  def unchanged(request: PageRequest): Unit =
    checked ++= seen.keys.filter(record => record >= request.first && record < math.min(request.end, start))

  private def comparable(marks: Seq[Mark]): Seq[Mark] = marks.filter(mark => mark.of == of && mark.record < start)

  private def compare(record: Long, digest: String): Unit = {
    if (record < start) {
      if (seen.get(record).exists(_ != digest)) moved = moved.orElse(Some(record))
      checked += record
    }
    here += record
    seen.remove(record): Unit
    seen(record) = digest
    if (seen.size > Remembered) { val _ = seen.remove(seen.keysIterator.next()) }
  }

  private def digests(body: Body, indexes: Seq[Long]): Seq[(Long, String)] = {
    val records = options.rules.format.open(body, options.place)
    var at = 0L
    indexes.map { index =>
      val _ = records.skip(index - at)
      records.next(): Unit
      records.pass()
      at = index + 1
      index -> digest(records.bytes)
    }
  }

  private def digest(record: Array[Byte]): String = {
    val described = options.rules.format match {
      case _: RecordFormat.Csv => record
      case _                   => Try(canonical(record)).getOrElse(record)
    }
    Sha256.hex(described, 8)
  }

  /** The same for records that differ in white space, escapes and the order of their fields only. */
  private def canonical(record: Array[Byte]): Array[Byte] = {
    val whole = mapper.readTree(record)
    val key = whole.at(of)
    mapper.writeValueAsBytes(mapper.treeToValue(if (key.isMissingNode) whole else key, classOf[Object]))
  }
}

private object ListMarks {
  private val mapper = JsonMapper
    .builder(Json.trees)
    .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
    .enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS)
    .build()

  /** Records whose digests are held. */
  private val Remembered = 16
}
