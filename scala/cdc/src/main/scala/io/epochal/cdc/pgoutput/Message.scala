package io.epochal.cdc.pgoutput

import java.io.{ByteArrayOutputStream, DataOutputStream}
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

/** A message of PostgreSQL's logical replication, in protocol version 1 ("Logical Replication Message Formats" in its manual).
  * Positions in the log (LSNs) are unsigned.
  */
sealed private[cdc] trait Message {

  /** The same, independent of the bytes from which it was read. */
  def deepCopy: Message = this

  /** About how many bytes it occupies. */
  def size: Int = 32
}

private[cdc] object Message {

  /** A transaction begins; the server sends it once it has committed.
    *
    * @param commitLsn
    *   where its commit record begins
    * @param committedAt
    *   in microseconds since 1970, by the server's clock
    * @param xid
    *   without its epoch
    */
  final case class Begin(commitLsn: Long, committedAt: Long, xid: Int) extends Message

  /** @param endLsn
    *   after the commit record
    */
  final case class Commit(commitLsn: Long, endLsn: Long) extends Message

  /** Rows of a table. `old` and `after` are its tuples, each without its kind.
    *
    * @param old
    *   empty if the server sent none: inserts, and updates that leave the replica identity alone
    */
  final case class Change(kind: ChangeKind, relation: Int, old: Option[OldTuple], after: Option[Bytes])
      extends Message {
    override def deepCopy: Change = copy(old = old.map(_.deepCopy), after = after.map(_.deepCopy))
    override def size: Int = old.fold(0)(_.bytes.length) + after.fold(0)(_.length)
  }

  final case class Truncate(relations: Seq[Int]) extends Message

  /** Sent before the first change of a table, and again after its definition has changed.
    *
    * @param raw
    *   the whole message, then `types`
    * @param types
    *   what we know of the columns' types, as in [[io.epochal.cdc.value.TypeText]]; empty unless the journal needs it
    */
  final case class Relation(
      oid: Int,
      schema: String,
      table: String,
      identity: Char,
      columns: Seq[RelationColumn],
      raw: Array[Byte],
      types: String = "")
      extends Message {

    /** For messages. */
    def name: String = s"$schema.$table"

    def withTypes(types: String): Relation = copy(raw = raw ++ types.getBytes(UTF_8), types = types)
  }

  object Relation {

    /** The message that the server would send of a table. */
    def of(oid: Int, schema: String, table: String, identity: Char, columns: Seq[RelationColumn]): Relation = {
      val bytes = new ByteArrayOutputStream
      val out = new DataOutputStream(bytes)
      def text(value: String): Unit = {
        out.write(value.getBytes(UTF_8))
        out.writeByte(0)
      }
      out.writeByte('R')
      out.writeInt(oid)
      text(schema)
      text(table)
      out.writeByte(identity.toInt)
      out.writeShort(columns.size)
      columns.foreach { column =>
        out.writeByte(if (column.isKey) 1 else 0)
        text(column.name)
        out.writeInt(column.typeOid)
        out.writeInt(column.modifier)
      }
      Relation(oid, schema, table, identity, columns, bytes.toByteArray)
    }
  }

  /** A message written by `pg_logical_emit_message`. */
  final case class Emitted(transactional: Boolean, lsn: Long, prefix: String, content: String) extends Message

  object Emitted {

    /** The prefix of messages about DDL. */
    final val Ddl = "epochal-ddl"
  }

  /** A type's name, or a transaction's origin: not needed. */
  case object Other extends Message

  /** Microseconds from 1970 to PostgreSQL's epoch. */
  private val Year2000 = 946684800L * 1000000L

  def read(bytes: Bytes): Message = read(bytes.array, bytes.offset, bytes.length)

  /** Reads a message. Its tuples refer to the given bytes.
    *
    * @throws IllegalArgumentException
    *   if it is none of protocol version 1
    */
  def read(bytes: Array[Byte], offset: Int, length: Int): Message = {
    val in = ByteBuffer.wrap(bytes, offset, length)
    (in.get(): @scala.annotation.switch) match {
      case 'B' =>
        val (lsn, at) = (in.getLong(), in.getLong())
        Begin(lsn, at + Year2000, in.getInt())
      case 'C' =>
        in.get(): Unit // Flags.
        val lsn = in.getLong()
        Commit(lsn, in.getLong())
      case 'I' =>
        val relation = in.getInt()
        kind(in, 'N'): Unit
        Change(ChangeKind.Insert, relation, None, Some(tuple(in)))
      case 'U' =>
        val relation = in.getInt()
        val old = in.get() match {
          case 'N' => None
          case present =>
            val actual = oldTuple(present.toChar, in)
            kind(in, 'N')
            Some(actual)
        }
        Change(ChangeKind.Update, relation, old, Some(tuple(in)))
      case 'D' =>
        val relation = in.getInt()
        Change(ChangeKind.Delete, relation, Some(oldTuple(in.get().toChar, in)), None)
      case 'T' =>
        val count = in.getInt()
        in.get(): Unit // CASCADE and RESTART IDENTITY.
        Truncate(Seq.fill(count)(in.getInt()))
      case 'R' =>
        val (oid, schema, table, identity) = (in.getInt(), text(in), text(in), in.get().toChar)
        val columns = Seq.fill(in.getShort().toInt) {
          val isKey = (in.get() & 1) == 1
          val name = text(in)
          val typeOid = in.getInt()
          RelationColumn(name, isKey, typeOid, in.getInt())
        }
        val raw = java.util.Arrays.copyOfRange(bytes, offset, offset + length)
        val types = new String(bytes, in.position(), offset + length - in.position(), UTF_8)
        Relation(oid, if (schema.isEmpty) "pg_catalog" else schema, table, identity, columns, raw, types)
      case 'M' =>
        val transactional = (in.get() & 1) == 1
        val lsn = in.getLong()
        val prefix = text(in)
        val content = new String(bytes, in.position() + 4, in.getInt(), UTF_8)
        Emitted(transactional, lsn, prefix, content)
      case 'Y' | 'O' => Other
      case other     => throw new IllegalArgumentException(s"an unknown message of logical replication: ${other.toInt}")
    }
  }

  private def oldTuple(kind: Char, in: ByteBuffer): OldTuple = kind match {
    case 'K' | 'O' => OldTuple(whole = kind == 'O', tuple(in))
    case other     => throw new IllegalArgumentException(s"an unknown kind of tuple: $other")
  }

  private def kind(in: ByteBuffer, expectedKind: Char): Unit = {
    val actual = in.get().toChar
    require(actual == expectedKind, s"an unknown kind of tuple: $actual")
  }

  /** The length of the tuple at a place. */
  def tupleLength(bytes: Array[Byte], at: Int): Int = tuple(ByteBuffer.wrap(bytes).position(at)).length

  /** Skips a tuple: int16 columns, then for each its kind and, with a value, int32 length and the value. */
  private def tuple(in: ByteBuffer): Bytes = {
    val from = in.position()
    var left = in.getShort().toInt
    while (left > 0) {
      in.get() match {
        case 'n' | 'u' => ()
        case _ =>
          val length = in.getInt()
          in.position(in.position() + length): Unit
      }
      left -= 1
    }
    Bytes(in.array, from, in.position() - from)
  }

  private def text(in: ByteBuffer): String = {
    val from = in.position()
    while (in.get() != 0) {}
    new String(in.array, from, in.position() - from - 1, UTF_8)
  }
}

/** The operation of a [[Message.Change]]. */
sealed private[cdc] trait ChangeKind

private[cdc] object ChangeKind {
  case object Insert extends ChangeKind
  case object Update extends ChangeKind
  case object Delete extends ChangeKind
}
