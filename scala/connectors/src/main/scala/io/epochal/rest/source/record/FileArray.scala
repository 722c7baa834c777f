package io.epochal.rest.source.record

import java.io.SequenceInputStream

import com.fasterxml.jackson.core.JsonParser

import io.epochal.kit.json.Json
import io.epochal.rest.http.request.{AnswerFile, Endpoint}

/** Records that stand one after the other in an answer; in lines of a file, in a piece of it.
  *
  * @param records
  *   how many
  * @param from
  *   the byte at which the first of them begins
  * @param until
  *   the byte after the last one
  */
final private[rest] case class AnswerPart(records: Int, from: Int, until: Int)

/** The records of an answer that lies in a file: an array that is taken in parts, which memory can hold. The answer is read
  * once from its first byte to its last for that, and proven to be whole JSON. A part ends with the record that makes it large.
  *
  * @param pointer
  *   JSON Pointer to the array
  * @param skip
  *   records at the front that are left out of the parts
  * @param take
  *   records behind those that the parts have, at the most
  * @throws io.epochal.core.error.EpochalException
  *   RECORDS_NOT_FOUND, where there is no array
  * @throws com.fasterxml.jackson.core.JsonProcessingException
  *   where the answer is no JSON
  */
final private[rest] class FileArray(
    file: AnswerFile,
    pointer: String,
    endpoint: Endpoint,
    skip: Long = 0,
    take: Long = Long.MaxValue
) {
  private val tokens = new TokenRecords(FileArray.parser(file, 0), (_, _) => Array.emptyByteArray, pointer, endpoint)
  private val front = tokens.begin
  private var count = 0
  private var firstStart = -1
  private var lastStart = -1

  val parts: Seq[AnswerPart] = {
    val found = Vector.newBuilder[AnswerPart]
    var part = AnswerPart(0, 0, 0)
    while (tokens.next()) {
      tokens.pass()
      val end = tokens.start + tokens.size
      if (count == 0) firstStart = tokens.start
      lastStart = tokens.start
      if (count >= skip && count - skip < take) {
        part = AnswerPart(part.records + 1, if (part.records == 0) tokens.start else part.from, end)
        if (end - part.from >= file.partBytes) {
          found += part
          part = AnswerPart(0, 0, 0)
        }
      }
      count += 1
    }
    if (part.records > 0) found += part
    found.result()
  }
  private val behind = tokens.until - 1
  tokens.finish()

  /** How many there are, with those that are left out. */
  def records: Int = count

  /** The byte at which the first record begins, and that of the last; None: there are no records. */
  def ends: Option[(Int, Int)] = Option.when(count > 0)((firstStart, lastStart))

  /** Reads what is around the array, itself left empty. */
  def around[A](read: JsonParser => A): A = {
    val around = new SequenceInputStream(file.stream(0, front), file.stream(behind, file.length))
    read(Json.factory.createParser(around))
  }

  /** The parts, each as an array. */
  def pieces(): Iterator[Utf8Body] = FileArray.pieces(file, parts)
}

private[rest] object FileArray {
  def parser(file: AnswerFile, from: Int): JsonParser = Json.factory.createParser(file.stream(from, file.length))

  /** @param parts
    *   of the answer; each comes as an array, in memory that the next one takes
    */
  def pieces(file: AnswerFile, parts: Seq[AnswerPart]): Iterator[Utf8Body] = {
    var bytes = Array.emptyByteArray
    parts.iterator.map { part =>
      val length = part.until - part.from + 2
      if (bytes.length < length) bytes = new Array[Byte](length)
      bytes(0) = '['
      file.read(part.from, bytes, 1, length - 2)
      bytes(length - 1) = ']'
      new Utf8Body(bytes, length)
    }
  }
}
