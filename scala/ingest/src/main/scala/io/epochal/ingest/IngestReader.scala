package io.epochal.ingest

import scala.util.Using

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.core.journal.Slice
import io.epochal.ingest.intake.{ArrivalFormat, StoredArrival}
import io.epochal.kit.json.Json
import io.epochal.kit.record._
import io.epochal.kit.source.journal.{FeedRows, JournalFrames, JournalRows}
import io.epochal.kit.spark.{ArrayRow, TextMap}
import io.epochal.kit.store.HadoopFileStore

/** Creates readers of journal rows. Serialized to the executors.
  *
  * @param rules
  *   how records become the columns of a schema; None: rows of text
  */
final private class IngestReaderFactory(
    options: IngestOptions,
    rules: Option[RecordRules],
    reading: RecordReading,
    val store: HadoopFileStore
) extends FeedRows {

  override def source: String = options.source

  def needsEnd: Option[String] = rules.flatMap(_.needsEnd)

  override def rows(slices: Iterator[Slice]): IngestReader = {
    val arrivals = new ArrivalReader(frames(slices))
    rules.fold[IngestReader](new TextRowReader(arrivals, reading.schema, options.replacesInvalid))(
      new ParsedReader(arrivals, reading, _))
  }

  override def lost(from: Long, until: Long, reason: String): String = options.dataLoss(from, until, reason)
}

/** Rows of one task: a partition of a micro-batch, or an endless partition. */
sealed abstract private class IngestReader(arrivals: ArrivalReader) extends JournalRows {
  final override def number: Long = arrivals.number
  override def close(): Unit = arrivals.close()
}

/** Rows of text: the record as it was received, and its origin. The row and the bytes of its text are reused. */
final private class TextRowReader(arrivals: ArrivalReader, schema: StructType, replacesInvalid: Boolean)
    extends IngestReader(arrivals) {
  private val values = new Array[Any](schema.length)
  private val text = schema.fieldNames.indexOf("value")
  private var from: ArrivalOrigin = _

  private val row = ArrayRow(values)

  override def get(): InternalRow = row

  override def next(): Boolean = {
    val more = arrivals.next()
    if (more) {
      if (from ne arrivals.origin) {
        from = arrivals.origin
        schema.fieldNames.indices.filter(_ != text).foreach { column =>
          values(column) = from.value(schema(column).name)
        }
      }
      if (text >= 0) values(text) = textOf(arrivals.payload, arrivals.begin, arrivals.end)
    }
    more
  }

  private def textOf(bytes: Array[Byte], begin: Int, end: Int): UTF8String = {
    val string = UTF8String.fromBytes(bytes, begin, end - begin)
    if (replacesInvalid && !isAscii(bytes, begin, end)) string.makeValid() else string
  }

  private def isAscii(bytes: Array[Byte], begin: Int, end: Int): Boolean = {
    var at = begin
    while (at < end && bytes(at) >= 0) at += 1
    at == end
  }
}

/** Rows with the columns of a schema. */
final private class ParsedReader(arrivals: ArrivalReader, reading: RecordReading, rules: RecordRules)
    extends IngestReader(arrivals) {
  private val pages = new LoneRecords(rules.format, IngestOptions.Format) {
    override def origin: Option[RecordOrigin] = Option(arrivals.origin)
    override def index: Long = arrivals.number
    override def next(): Boolean = {
      val more = arrivals.next()
      if (more) set(arrivals.payload, arrivals.begin, arrivals.end)
      more
    }
  }
  private val rows = new RecordRows(new RecordColumns(reading, rules), rules, pages, IngestOptions.Format)

  override def next(): Boolean = rows.next()

  override def get(): InternalRow = rows.row

  override def close(): Unit = {
    rows.close()
    super.close()
  }
}

/** Iterates over the records of a task's journal slices. Not thread-safe. */
final private class ArrivalReader(frames: JournalFrames) extends AutoCloseable {
  private var buffer = new Array[Byte](64 << 10)
  private var length = 0
  private var left = 0
  private var row = -1L
  private var record = 0
  private var at = 0
  private var current: StoredArrival = _
  private var from: ArrivalOrigin = _

  /** Moves to the next record; false at the end. */
  @scala.annotation.tailrec
  def next(): Boolean =
    if (left > 0) {
      record += 1
      if (record == current.records) open()
      left -= 1
      row += 1
      true
    } else if (nextFrame()) next()
    else false

  /** Origin of the record: the same object for all records of one arrival. */
  def origin: ArrivalOrigin = from

  /** Contains the record, from `begin` until `end`. */
  def payload: Array[Byte] = current.payload

  def begin: Int = current.end(record - 1)

  def end: Int = current.end(record)

  /** The number of the record in the journal. */
  def number: Long = row

  override def close(): Unit = frames.close()

  private def nextFrame(): Boolean = frames.next(reserve) match {
    case None => false
    case Some(slice) =>
      at = 0
      open()
      var skip = slice.skip
      while (skip >= current.records) {
        skip -= current.records
        open()
      }
      record = skip - 1
      left = slice.take
      row = slice.first - 1
      true
  }

  /** Opens the next arrival of the frame, at its first record. */
  private def open(): Unit = {
    current = ArrivalFormat.read(buffer, at, length)
    from = new ArrivalOrigin(current)
    at = current.until
    record = 0
  }

  private def reserve(bytes: Int): Array[Byte] = {
    if (buffer.length < bytes) buffer = new Array[Byte](bytes)
    length = bytes
    buffer
  }
}

/** Column values that describe the origin of a record. */
final private class ArrivalOrigin(arrival: StoredArrival) extends RecordOrigin {
  private lazy val remote = UTF8String.fromString(arrival.remote)
  private lazy val stream = UTF8String.fromString(arrival.stream)
  private lazy val headers = Option(arrival.headers).map(json => TextMap(texts(json))).orNull

  override def value(column: String): Any = column match {
    case "receivedAt" => arrival.receivedAt
    case "remote"     => remote
    case "stream"     => stream
    case "headers"    => headers
    case _            => null
  }

  /** The members of a JSON object of strings. */
  private def texts(json: String): Map[String, String] = Using.resource(Json.factory.createParser(json)) { parser =>
    parser.nextToken(): Unit
    Iterator.continually(parser.nextFieldName()).takeWhile(_ != null).map(_ -> parser.nextTextValue()).toMap
  }
}
