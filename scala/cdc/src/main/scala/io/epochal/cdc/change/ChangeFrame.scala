package io.epochal.cdc.change

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.util.zip.CRC32C

import scala.collection.mutable

import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.cdc.pgoutput.{Bytes, Message, OldTuple}

/** A transaction of the server.
  *
  * @param lsn
  *   where its commit record begins
  * @param committedAt
  *   in microseconds since 1970, by the server's clock
  * @param stamp
  *   `_commit_timestamp`: the same, or one microsecond after the transaction before, whichever is later
  */
final private[cdc] case class Transaction(lsn: Long, xid: Int, committedAt: Long, stamp: Long)

/** How far a transaction was written.
  *
  * @param ordinal
  *   of its next change
  * @param crc
  *   CRC-32C of the bytes of its changes so far: the server must send them again if the rest is still missing
  */
final private[cdc] case class Written(transaction: Transaction, ordinal: Long, crc: Int, isComplete: Boolean)

/** The kind of a change, which determines the number of rows that it delivers. */
sealed abstract private[cdc] class Kind(val code: Byte, val rows: Int, val ordinals: Int)

private[cdc] object Kind {
  case object Insert extends Kind('I', rows = 1, ordinals = 1)

  /** An update that delivers the new row. */
  case object Update extends Kind('U', rows = 1, ordinals = 1)

  /** An update that delivers the old row and the new one. */
  case object BothImages extends Kind('V', rows = 2, ordinals = 1)

  /** An update of the key: deletes the old row, inserts the new one. */
  case object NewKey extends Kind('K', rows = 2, ordinals = 2)
  case object Delete extends Kind('D', rows = 1, ordinals = 1)
  case object Truncate extends Kind('T', rows = 1, ordinals = 1)

  def of(code: Byte): Kind = (code: @scala.annotation.switch) match {
    case 'I' => Insert
    case 'U' => Update
    case 'V' => BothImages
    case 'K' => NewKey
    case 'D' => Delete
    case 'T' => Truncate
  }
}

/** The payload of a journal frame: changes of whole transactions, or a part of one. It contains the definitions of their tables,
  * so that a task can begin at any frame. Numbers are big-endian; u4 has four bytes, i8 eight, with a sign.
  *
  * {{{
  * version        u1, 2
  * definitions    u4, their position
  * note           u4, its position
  * transaction*   i8 LSN, u4 xid, i8 time of commit, i8 stamp, i8 first ordinal, i8 next ordinal, u4 rows, u4 CRC-32C of
  *                all its changes so far, u1 whether it is complete, u4 bytes of its changes
  *   change*      u1 kind, u2 definition, u4 bytes, then the tuples: an old one begins with 'K' (identity) or 'O' (whole), a new
  *                one with 'N', as the server sent them
  * definition*    u4 bytes, then the server's Relation message; of several tables, then its `TypeText`
  * note           what the rows say of the snapshot's progress, as JSON; empty for changes
  * }}}
  *
  * Rows of the snapshot are inserts of a transaction with the xid 0, which no transaction has. In version 1 ordinals have four bytes.
  */
private[cdc] object ChangeFrame {
  val Version: Byte = 2
  val Head: Int = 9

  /** Bytes from a transaction's head to its ordinals. */
  val ToOrdinals: Int = 8 + 4 + 8 + 8

  def transactionHead(version: Byte): Int = ToOrdinals + (if (version == 1) 8 else 16) + 4 + 4 + 1 + 4

  val TransactionHead: Int = transactionHead(Version)
}

/** Builds frames. Not thread-safe. */
final private[cdc] class FrameBuilder {
  import ChangeFrame._

  private var out = ByteBuffer.allocate(64 << 10)
  private val definitions = mutable.ArrayBuffer.empty[Relation]
  private var open = Option.empty[Open]
  private var rowCount = 0

  /** Whether the bytes are those of the frame before. */
  private var isFinished = true

  /** A transaction that is being written.
    *
    * @param at
    *   position of its head
    */
  final private class Open(val transaction: Transaction, val at: Int, val first: Long, val crc: CRC32C) {
    var ordinal: Long = first
    var rows = 0
  }

  /** Rows in the frame. */
  def rows: Int = rowCount

  /** Bytes of the frame, without its definitions. */
  def size: Int = if (isFinished) 0 else out.position()

  /** Begins a transaction, or continues one. */
  def begin(transaction: Transaction, ordinal: Long, crc: CRC32C): Unit = {
    if (isFinished) {
      isFinished = false
      out.clear().put(Version).putInt(0).putInt(0): Unit
    }
    room(TransactionHead)
    open = Some(new Open(transaction, out.position(), ordinal, crc))
    out.position(out.position() + TransactionHead): Unit
  }

  /** Adds a change of the transaction, with its tuples as the server sent them. */
  def add(kind: Kind, relation: Relation, old: Option[OldTuple], row: Option[Bytes]): Unit = open.foreach { current =>
    val length = old.fold(0)(1 + _.bytes.length) + row.fold(0)(1 + _.length)
    room(7 + length)
    val from = out.position()
    out.put(kind.code).putShort(define(relation).toShort).putInt(length)
    old.foreach(tuple => put(tuple.kind, tuple.bytes))
    row.foreach(put('N', _))
    current.crc.update(out.array, from + 7, length)
    current.ordinal += kind.ordinals
    current.rows += kind.rows
    rowCount += kind.rows
  }

  private def put(kind: Char, bytes: Bytes): Unit =
    out.put(kind.toByte).put(bytes.array, bytes.offset, bytes.length): Unit

  /** Ends the transaction in this frame.
    *
    * @param complete
    *   whether it ends here; if not, the next frame continues it
    */
  def end(complete: Boolean): Option[Written] = {
    val written = open.map { current =>
      val Transaction(lsn, xid, at, stamp) = current.transaction
      val crc = current.crc.getValue.toInt
      if (current.rows == 0) out.position(current.at): Unit
      else {
        val until = out.position()
        out.position(current.at): Unit
        out.putLong(lsn).putInt(xid).putLong(at).putLong(stamp)
        out.putLong(current.first).putLong(current.ordinal).putInt(current.rows).putInt(crc)
        out.put((if (complete) 1 else 0).toByte).putInt(until - current.at - TransactionHead)
        out.position(until): Unit
      }
      Written(current.transaction, current.ordinal, crc, complete)
    }
    open = None
    written
  }

  /** Moves the ordinals of the frame's only transaction, which has ended. */
  def shift(ordinals: Long): Unit = {
    val at = Head + ToOrdinals
    out.putLong(at, out.getLong(at) + ordinals).putLong(at + 8, out.getLong(at + 8) + ordinals): Unit
  }

  /** The frame; the builder is empty afterwards. The bytes are valid until the next call. */
  def result(note: String = ""): Bytes = {
    out.putInt(1, out.position())
    definitions.foreach { relation =>
      room(4 + relation.raw.length)
      out.putInt(relation.raw.length).put(relation.raw)
    }
    val text = note.getBytes(UTF_8)
    room(text.length)
    out.putInt(5, out.position()).put(text)
    definitions.clear()
    rowCount = 0
    isFinished = true
    Bytes(out.array, 0, out.position())
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

/** A transaction's part of a frame.
  *
  * @param changes
  *   position of its first change
  */
final private[cdc] case class Part(written: Written, first: Long, rows: Int, changes: Int, length: Int) {
  def until: Int = changes + length
}

/** Reads a frame. */
final private[cdc] class FrameReader(bytes: Array[Byte], length: Int) {
  import ChangeFrame._

  private val in = ByteBuffer.wrap(bytes, 0, length)
  private val version = in.get()
  require(version >= 1 && version <= Version, s"a frame of version $version, and this release reads version $Version")
  private val end = in.getInt()
  private val noted = in.getInt()

  def note: String = new String(bytes, noted, length - noted, UTF_8)

  /** The definitions of the frame's tables, as its changes count them. */
  lazy val definitions: IndexedSeq[Relation] = {
    val found = Vector.newBuilder[Relation]
    var at = end
    while (at < noted) {
      val size = in.getInt(at)
      Message.read(bytes, at + 4, size) match {
        case relation: Relation => found += relation
        case other              => throw new IllegalArgumentException(s"not a definition of a table: $other")
      }
      at += 4 + size
    }
    found.result()
  }

  private def readOrdinal(): Long = if (version == 1) in.getInt().toLong else in.getLong()

  /** The transactions, in order. */
  def parts: Iterator[Part] = new Iterator[Part] {
    private var at = Head

    override def hasNext: Boolean = at < end

    override def next(): Part = {
      in.position(at)
      val transaction = Transaction(in.getLong(), in.getInt(), in.getLong(), in.getLong())
      val (first, ordinal) = (readOrdinal(), readOrdinal())
      val (rows, crc) = (in.getInt(), in.getInt())
      val complete = in.get() == 1
      val size = in.getInt()
      val from = at + transactionHead(version)
      at = from + size
      Part(Written(transaction, ordinal, crc, complete), first, rows, from, size)
    }
  }
}
