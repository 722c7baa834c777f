package io.epochal.ingest

import scala.util.Using

import org.apache.spark.unsafe.types.UTF8String

import io.epochal.core.journal.{FileStore, Slice}
import io.epochal.ingest.intake.{ArrivalFormat, StoredArrival}
import io.epochal.kit.json.Json
import io.epochal.kit.record.RecordOrigin
import io.epochal.kit.source.journal.JournalFrames
import io.epochal.kit.spark.TextMap

/** Iterates over the records of a task's journal slices. Not thread-safe. */
final private class ArrivalReader(
    slices: Iterator[Slice],
    store: FileStore,
    source: String,
    lost: (Long, Long, String) => String
) extends AutoCloseable {
  private val frames = new JournalFrames(slices, store, source, lost)
  private var buffer = new Array[Byte](ArrivalReader.FirstSize)
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

private object ArrivalReader {
  private val FirstSize = 64 << 10
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
