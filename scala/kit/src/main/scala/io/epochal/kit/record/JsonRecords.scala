package io.epochal.kit.record

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

import com.fasterxml.jackson.core.{JsonParser, JsonProcessingException}
import org.apache.spark.sql.catalyst.InternalRow

import io.epochal.kit.json.JsonScan

/** Iterates over the records of an array in memory, by its bytes. Jackson reads from the first record that is in doubt.
  *
  * The arguments are those of [[TokenRecords]].
  *
  * @throws io.epochal.core.error.EpochalException
  *   RECORDS_NOT_FOUND, if there is no array
  * @throws com.fasterxml.jackson.core.JsonProcessingException
  *   from any step, if the bytes are not JSON
  */
final private[epochal] class JsonRecords(
    piece: Piece,
    format: RecordFormat.Json,
    place: String,
    nullIsEmpty: Boolean = false
) extends ArrayRecords {

  private lazy val tokens = new TokenRecords(piece, format, place, nullIsEmpty)
  private val scan = new JsonScan(piece.bytes, 0, piece.length)
  private var doubted = false
  private var ended = false
  private var recordIndex = -1 // The number of records before this one; -1 before the first.
  private var from = 0
  private var until = -1

  override val begin: Int =
    if (descend(TokenRecords.segments(format.pointer))) scan.at + 1
    else {
      doubted = tokens.absent
      tokens.begin
    }
  scan.at = begin

  override def start: Int = if (doubted) tokens.start else from

  override def end: Int = if (doubted) tokens.end else scan.at - 1

  override def next(): Boolean = {
    if (!doubted && !ended) step()
    if (doubted) tokens.next() else !ended
  }

  override def pass(): Unit = if (!measured()) tokens.pass()

  override def row(columns: RecordColumns): InternalRow = {
    val row = if (doubted) null else plainRow(columns)
    if (row == null) tokens.row(columns) else row
  }

  override def bytes: Array[Byte] = if (measured()) Arrays.copyOfRange(piece.bytes, from, until) else tokens.bytes

  override def size: Int = if (measured()) until - from else tokens.size

  override def finish(): Unit = {
    val _ = skip(Long.MaxValue)
    around(rest => while (rest.nextToken() != null) {})
  }

  override def around[A](read: JsonParser => A): A =
    try read(piece.parserWithout(begin, end))
    catch {
      case e: JsonProcessingException =>
        new TokenRecords(piece, format, place, nullIsEmpty).finish() // Throws an error that names the right byte.
        throw e
    }

  /** Moves to the array, if the path to it is plain JSON. */
  @scala.annotation.tailrec
  private def descend(segments: List[String]): Boolean = segments match {
    case Nil          => scan.next() == '['
    case name :: rest => scan.next() == '{' && field(name.getBytes(UTF_8)) && descend(rest)
  }

  /** Moves to the value of the field. */
  private def field(name: Array[Byte]): Boolean = {
    var sure = scan.pass() == '"'
    var found = false
    while (sure && !found) {
      val from = scan.at + 1
      sure = scan.string() && !scan.escaped
      found = sure && Arrays.equals(piece.bytes, from, scan.at - 1, name, 0, name.length)
      sure &&= scan.next() == ':'
      if (sure) scan.pass(): Unit
      if (sure && !found) sure = scan.value() && scan.next() == ',' && scan.pass() == '"'
    }
    sure
  }

  /** Moves to the next record, or past the array. */
  private def step(): Unit =
    if (recordIndex < 0 || measured()) {
      if (recordIndex >= 0) scan.at = until
      var byte = scan.next()
      if (byte == ']') {
        ended = true
        scan.at += 1
      } else {
        if (recordIndex >= 0) byte = if (byte == ',') scan.pass() else -1
        recordIndex += 1
        from = scan.at
        until = -1
        if (byte != '{') doubt()
      }
    }

  private def plainRow(columns: RecordColumns): InternalRow = {
    scan.at = from
    val row = columns.json.row(scan)
    if (row == null) doubtThis() else until = scan.at
    row
  }

  /** Whether the end of the record is known; if not, Jackson is at its beginning. */
  private def measured(): Boolean = {
    if (!doubted && until < 0) {
      scan.at = from
      if (scan.value()) until = scan.at else doubtThis()
    }
    !doubted
  }

  /** Moves Jackson to this record. */
  private def doubtThis(): Unit = {
    doubt()
    val _ = tokens.next()
  }

  /** Makes Jackson skip all records before this one. */
  private def doubt(): Unit = {
    doubted = true
    val _ = tokens.skip(recordIndex.toLong)
  }
}
