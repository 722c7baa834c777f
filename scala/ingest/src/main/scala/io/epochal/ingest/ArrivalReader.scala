package io.epochal.ingest

import io.epochal.core.journal.{FileStore, Slice}
import io.epochal.ingest.intake.{ArrivalFormat, StoredArrival}
import io.epochal.kit.source.journal.JournalFrames

/** Steps through the records of a task's slices. One thread at a time. */
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

  /** Moves to the next record, if there is one. */
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

  /** What the record came with. The same object for all records that came together. */
  def arrival: StoredArrival = current

  /** Where in the arrival's payload the record begins, and where it ends. */
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

  /** The next arrival of the frame, from its first record on. */
  private def open(): Unit = {
    current = ArrivalFormat.read(buffer, at, length)
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
