package io.epochal.rest.source

import com.fasterxml.jackson.core.{JsonParser, JsonToken}

import io.epochal.kit.json.Json
import io.epochal.kit.record.RecordBlock

/** Steps through the records of a JSON array by their bytes. */
private[rest] object RecordArray {

  /** @param read
    *   moves the parser from the first token of a record to its last
    * @param record
    *   receives the bounds of the record that was read
    */
  def each(bytes: Array[Byte], start: Int, until: Int)(read: JsonParser => Unit)(record: (Int, Int) => Unit): Unit = {
    val parser = Json.factory.createParser(bytes, start, until - start)
    parser.nextToken()
    while (parser.nextToken() != JsonToken.END_ARRAY) {
      val from = start + parser.currentTokenLocation().getByteOffset.toInt
      read(parser)
      parser.finishToken()
      record(from, start + parser.currentLocation().getByteOffset.toInt)
    }
  }

  /** The block with the records that `keep` accepts, given their bounds; None if there are none. */
  def select(block: RecordBlock)(read: JsonParser => Unit)(keep: (Int, Int) => Boolean): Option[RecordBlock] = {
    val array = new Array[Byte](block.length)
    var (end, left) = (0, 0)
    each(block.bytes, block.from, block.until)(read) { (from, until) =>
      if (keep(from, until)) {
        array(end) = if (left == 0) '[' else ','
        System.arraycopy(block.bytes, from, array, end + 1, until - from)
        end += 1 + until - from
        left += 1
      }
    }
    if (left == block.records) Some(block)
    else
      Option.when(left > 0) {
        array(end) = ']'
        RecordBlock(left, array, 0, end + 1)
      }
  }
}
