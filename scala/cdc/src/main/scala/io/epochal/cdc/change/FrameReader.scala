package io.epochal.cdc.change

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.cdc.pgoutput.{Bytes, Message}

/** Reads the payload of a [[ChangeFrame]]. */
final private[cdc] class FrameReader(bytes: Array[Byte], length: Int) {
  import ChangeFrame._
  import FrameReader.{Part, StoredChange}

  private val in = ByteBuffer.wrap(bytes, 0, length)
  private val version = in.get()
  require(version >= 1 && version <= Version, s"a frame of version $version, and this release reads version $Version")
  private val end = in.getInt()
  private val noteStart = in.getInt()

  def note: String = new String(bytes, noteStart, length - noteStart, UTF_8)

  /** The definitions of the frame's tables, as its changes count them. */
  lazy val definitions: IndexedSeq[Relation] = {
    val relations = Vector.newBuilder[Relation]
    var at = end
    while (at < noteStart) {
      val size = in.getInt(at)
      Message.read(bytes, at + 4, size) match {
        case relation: Relation => relations += relation
        case other              => throw new IllegalArgumentException(s"not a definition of a table: $other")
      }
      at += 4 + size
    }
    relations.result()
  }

  /** The changes of a transaction. */
  def changes(of: Part): Iterator[StoredChange] = new Iterator[StoredChange] {
    private var at = of.changes

    override def hasNext: Boolean = at < of.until

    override def next(): StoredChange = {
      val tuples = Bytes(bytes, at + 7, in.getInt(at + 3))
      val change = StoredChange(RowChange.of(in.get(at)), definitions(in.getShort(at + 1).toInt), tuples)
      at += 7 + tuples.length
      change
    }
  }

  private def readOrdinal(): Long = if (version == 1) in.getInt().toLong else in.getLong()

  /** The transactions, in order. */
  def parts: Iterator[Part] = new Iterator[Part] {
    private var at = Head

    override def hasNext: Boolean = at < end

    override def next(): Part = {
      in.position(at)
      val transaction = CommittedTransaction(in.getLong(), in.getInt(), in.getLong(), in.getLong())
      val (first, ordinal) = (readOrdinal(), readOrdinal())
      val (rows, crc) = (in.getInt(), in.getInt())
      val complete = in.get() == 1
      val size = in.getInt()
      val from = at + transactionHead(version)
      at = from + size
      val isComparison = RowChange.isVerifying(in.get(from))
      Part(StoredTransaction(transaction, ordinal, crc, complete), first, rows, from, size, isComparison)
    }
  }
}

private[cdc] object FrameReader {

  /** A change as a frame has it. */
  final case class StoredChange(kind: RowChange, relation: Relation, tuples: Bytes) {

    /** The old row and the new one, each with the letter before it. */
    def images: (Option[Bytes], Option[Bytes]) = {
      val Bytes(array, from, length) = tuples
      val isOld = length > 0 && array(from) != 'N'
      val oldLength = if (isOld) 1 + Message.tupleLength(array, from + 1) else 0
      (
        Option.when(isOld)(Bytes(array, from, oldLength)),
        Option.when(oldLength < length)(Bytes(array, from + oldLength, length - oldLength)))
    }
  }

  /** A transaction's part of a frame.
    *
    * @param changes
    *   position of its first change
    * @param isComparison
    *   whether its changes belong to a comparison
    */
  final case class Part(
      stored: StoredTransaction,
      first: Long,
      rows: Int,
      changes: Int,
      length: Int,
      isComparison: Boolean = false) {
    def until: Int = changes + length

    /** Whether the transaction ends in it. Rows of a snapshot count alone. */
    def isWhole: Boolean = stored.isComplete || stored.transaction.xid == 0
  }
}
