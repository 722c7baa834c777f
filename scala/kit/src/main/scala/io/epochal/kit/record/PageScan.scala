package io.epochal.kit.record

import java.util.Arrays

/** Reads a page once, from its first byte to its last: counts the records, and picks values around them. That proves the page to be
  * of its format. The body is not changed.
  */
private[epochal] trait PageScan {

  /** @param skip
    *   records at the front that are not wanted
    * @param take
    *   the maximum of records that are wanted after these; all are counted
    * @throws EpochalException
    *   RECORDS_NOT_FOUND
    * @throws com.fasterxml.jackson.core.JsonProcessingException
    *   where the body is not of its format
    */
  def read(body: Body, skip: Long = 0, take: Long = Long.MaxValue): ScannedPage

  /** The wanted records of the body that was read. A block is valid until the next one is taken, or the body is used again.
    */
  def blocks(scanned: ScannedPage, body: Body): Iterator[RecordBlock]
}

private[epochal] object PageScan {

  /** @param place
    *   says in errors where pages come from
    * @param pointers
    *   JSON Pointers to values that are wanted
    * @param key
    *   JSON Pointer within a record to what is wanted of the first and the last one
    * @param nullIsEmpty
    *   whether null in the place of an array of records is an array without records
    */
  def of(
      format: RecordFormat,
      place: String,
      pointers: Seq[String] = Nil,
      key: Option[String] = None,
      nullIsEmpty: Boolean = false): PageScan = format match {
    case json: RecordFormat.Json     => new ArrayScan(json, place, pointers, key, nullIsEmpty)
    case lines: RecordFormat.OfLines => new LineScan(lines, place)
  }
}

/** What a page holds.
  *
  * @param records
  *   how many there are
  * @param spans
  *   where the wanted ones stand
  * @param values
  *   the values at the pointers asked for that are neither missing nor null; an object or array is None
  * @param keys
  *   of the first and the last record, if they are wanted and there are records; None: the record has no such value
  * @param nulls
  *   the pointers asked for with null at them, or on the way to them
  * @param outline
  *   the first fields around the records: their pointers, and the beginnings of the texts of those that are scalars
  */
final private[epochal] case class ScannedPage(
    records: Int = 0,
    spans: Seq[RecordSpan] = Nil,
    values: Map[String, Option[String]] = Map.empty,
    keys: Option[(Option[String], Option[String])] = None,
    nulls: Set[String] = Set.empty,
    outline: Seq[(String, Option[String])] = Nil
)

private[epochal] object ScannedPage {
  val nothing: ScannedPage = ScannedPage()
}

/** Records that can be read without the rest of the page, as a JSON array or as lines: the bytes `from` to `until`.
  *
  * @param records
  *   how many, at least 1
  */
final private[epochal] case class RecordBlock(records: Int, bytes: Array[Byte], from: Int, until: Int) {
  def length: Int = until - from

  /** The same with other bytes before it; they come into an array of their own then. */
  def behind(front: Array[Byte]): RecordBlock =
    if (front.isEmpty) this
    else {
      val whole = Arrays.copyOf(front, front.length + length)
      System.arraycopy(bytes, from, whole, front.length, length)
      copy(bytes = whole, from = 0, until = whole.length)
    }
}
