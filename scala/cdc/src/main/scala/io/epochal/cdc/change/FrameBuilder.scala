package io.epochal.cdc.change

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.util.zip.CRC32C

import scala.collection.mutable

import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.cdc.pgoutput.{Bytes, OldTuple}

/** Builds frames. Not thread-safe. */
final private[cdc] class FrameBuilder {
  import ChangeFrame._

  private var out = ByteBuffer.allocate(64 << 10)
  private val definitions = mutable.ArrayBuffer.empty[Relation]
  private var open = Option.empty[Open]
  private var rowCount = 0

  /** Whether the bytes are those of the frame before. */
  private var isFinished = true

  /** A transaction that is being written. */
  final private class Open(val transaction: CommittedTransaction, val first: Long, val crc: CRC32C) {

    /** Position of its head, which its first change in the frame makes. */
    var head: Int = -1
    var ordinal: Long = first
    var rows = 0
  }

  def rows: Int = rowCount

  /** Bytes of the frame, without its definitions. */
  def size: Int = if (isFinished) 0 else out.position()

  /** Begins a transaction, or continues one. The last frame's bytes stay valid until a change is added. */
  def begin(transaction: CommittedTransaction, ordinal: Long, crc: CRC32C): Unit =
    open = Some(new Open(transaction, ordinal, crc))

  /** Begins rows of a table, which have no transaction. */
  def beginRows(): Unit = begin(CommittedTransaction(0, xid = 0, 0, 0), 0, new CRC32C)

  /** Adds a change of the transaction, with its tuples as the server sent them. */
  def add(kind: RowChange, relation: Relation, old: Option[OldTuple], row: Option[Bytes]): Unit = open.foreach {
    current =>
      val length = old.fold(0)(1 + _.bytes.length) + row.fold(0)(1 + _.length)
      putHead(current, kind, relation, length)
      old.foreach(tuple => put(tuple.kind, tuple.bytes))
      row.foreach(put('N', _))
      count(current, kind, length)
  }

  /** Adds a change with its tuples as another frame has them. */
  def repeat(kind: RowChange, relation: Relation, tuples: Bytes): Unit = open.foreach { current =>
    putHead(current, kind, relation, tuples.length)
    out.put(tuples.array, tuples.offset, tuples.length)
    count(current, kind, tuples.length)
  }

  /** Begins a change. */
  private def putHead(current: Open, kind: RowChange, relation: Relation, length: Int): Unit = {
    if (current.head < 0) putHead(current)
    room(7 + length)
    out.put(kind.code).putShort(define(relation).toShort).putInt(length): Unit
  }

  /** Ends a change whose tuples have been put. */
  private def count(current: Open, kind: RowChange, length: Int): Unit = {
    current.crc.update(out.array, out.position() - length, length)
    current.ordinal += kind.ordinals
    current.rows += kind.rows
    rowCount += kind.rows
  }

  private def putHead(current: Open): Unit = {
    if (isFinished) {
      isFinished = false
      out.clear().put(Version).putInt(0).putInt(0): Unit
    }
    room(TransactionHead)
    current.head = out.position()
    out.position(out.position() + TransactionHead): Unit
  }

  private def put(kind: Char, bytes: Bytes): Unit =
    out.put(kind.toByte).put(bytes.array, bytes.offset, bytes.length): Unit

  /** Ends the transaction in this frame.
    *
    * @param complete
    *   whether it ends here; if not, the next frame continues it
    */
  def end(complete: Boolean): Option[StoredTransaction] = {
    val part = open.map { current =>
      val CommittedTransaction(lsn, xid, at, stamp) = current.transaction
      val crc = current.crc.getValue.toInt
      if (current.rows > 0) {
        val until = out.position()
        out.position(current.head): Unit
        out.putLong(lsn).putInt(xid).putLong(at).putLong(stamp)
        out.putLong(current.first).putLong(current.ordinal).putInt(current.rows).putInt(crc)
        out.put((if (complete) 1 else 0).toByte).putInt(until - current.head - TransactionHead)
        out.position(until): Unit
      }
      StoredTransaction(current.transaction, current.ordinal, crc, complete)
    }
    open = None
    part
  }

  /** Moves the ordinals of the frame's only transaction, which has ended. */
  def shift(ordinals: Long): Unit = {
    val at = Head + ToOrdinals
    out.putLong(at, out.getLong(at) + ordinals).putLong(at + 8, out.getLong(at + 8) + ordinals): Unit
  }

  /** The frame; the builder is empty afterwards. */
  def frame(before: ChangeState, note: String = ""): ChangeFrame = {
    out.putInt(1, out.position())
    definitions.foreach { relation =>
      room(4 + relation.raw.length)
      out.putInt(relation.raw.length).put(relation.raw)
    }
    val text = note.getBytes(UTF_8)
    room(text.length)
    out.putInt(5, out.position()).put(text)
    val rows = rowCount
    definitions.clear()
    rowCount = 0
    isFinished = true
    ChangeFrame(
      rows,
      Bytes(out.array, 0, out.position()),
      before,
      before.after(new FrameReader(out.array, out.position())))
  }

  private def define(relation: Relation): Int = {
    var index = definitions.size - 1
    while (index >= 0 && !(definitions(index) eq relation)) index -= 1
    if (index >= 0) index
    else {
      definitions += relation
      definitions.size - 1
    }
  }

  private def room(bytes: Int): Unit = if (out.remaining < bytes) {
    val larger = ByteBuffer.allocate(math.max(Math.addExact(out.position(), bytes), 2 * out.capacity))
    larger.put(out.flip())
    out = larger
  }
}
