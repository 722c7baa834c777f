package io.epochal.rest.source.page

import java.util.Arrays

import io.epochal.rest.http.request.BodyBuffer
import io.epochal.rest.source.paging.{ChainedPagination, RestOptions}
import io.epochal.rest.source.record.{AnswerOrigin, BodyFormat, ScannedAnswer}

/** Reads an answer once, from its first byte to its last: counts the records, and picks values around them. It is proven to be
  * what its format says then.
  */
private[rest] trait AnswerScan {

  /** @param skip
    *   records at the front that are not asked for: bytes in memory may be changed, so that a body begins behind them
    * @param take
    *   records behind those that are asked for, at the most; all are counted, and bytes may be changed as well
    * @throws EpochalException
    *   RECORDS_NOT_FOUND
    * @throws com.fasterxml.jackson.core.JsonProcessingException
    *   where the answer is not of its format
    */
  def read(buffer: BodyBuffer, skip: Long = 0, take: Long = Long.MaxValue): ScannedAnswer

  /** The records that were asked for of the answer that was read. A block is of no use any more when the next one is taken. */
  def blocks(scanned: ScannedAnswer, answer: Answer): Iterator[RecordBlock]
}

private[rest] object AnswerScan {

  /** @param pointers
    *   JSON Pointers to values that are wanted
    * @param key
    *   JSON Pointer within a record to what is wanted of the first and the last one
    */
  def of(options: RestOptions, pointers: Seq[String] = Nil, key: Option[String] = None): AnswerScan =
    options.rules.format match {
      case BodyFormat.Json(records, mayMiss) =>
        val nullIsEmpty = options.paging.isInstanceOf[ChainedPagination]
        new ArrayScan(records, pointers, options.endpoint, key, nullIsEmpty, mayMiss)
      case lines: BodyFormat.OfLines => new LineScan(lines, options.endpoint)
    }
}

/** Records as a body of their own, an array of JSON or lines: the bytes `from` to `until`.
  *
  * @param records
  *   how many, at least 1
  * @param origin
  *   where they came from, if a column tells that
  */
final private[rest] case class RecordBlock(
    records: Int,
    bytes: Array[Byte],
    from: Int,
    until: Int,
    origin: Option[AnswerOrigin] = None
) {
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
