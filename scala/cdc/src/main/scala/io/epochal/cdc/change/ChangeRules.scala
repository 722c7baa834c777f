package io.epochal.cdc.change

import java.util

import io.epochal.cdc.pgoutput.Message.Change
import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.cdc.pgoutput.{Bytes, ChangeKind}

/** Which rows a change delivers.
  *
  * @param preimages
  *   whether an update also delivers the row before it
  */
final private[cdc] class ChangeRules(preimages: Boolean) {

  /** The kind of a change.
    *
    * @param identity
    *   places of the columns that identify a row
    */
  def kind(identity: Seq[Int], change: Change): Kind = change.kind match {
    case ChangeKind.Insert            => Kind.Insert
    case ChangeKind.Delete            => Kind.Delete
    case _ if change.old.isEmpty      => Kind.Update
    case _ if moves(identity, change) => Kind.NewKey
    case _                            => if (preimages) Kind.BothImages else Kind.Update
  }

  /** Whether an update changes the key. */
  def moves(key: Seq[Int], change: Change): Boolean = (change.old, change.after) match {
    case (Some(before), Some(after)) =>
      key.exists { column =>
        val (one, other) = (TupleValue.of(before.bytes, column), TupleValue.of(after, column))
        !other.isUnchanged && !one.sameAs(other)
      }
    case _ => false
  }
}

private[cdc] object ChangeRules {

  /** The places of a table's key: its primary key, else the columns of its replica identity, unless that is the whole row. */
  def key(relation: Relation, primary: Seq[String]): Seq[Int] =
    if (primary.nonEmpty) primary.map(name => relation.columns.indexWhere(_.name == name)).filter(_ >= 0)
    else if (relation.identity == 'f') Nil
    else relation.columns.indices.filter(relation.columns(_).isKey)

  /** The places of the columns whose old values the server sends when one of them changes: those of the replica identity. If that is
    * the whole row, those of the primary key.
    */
  def identity(relation: Relation, primary: Seq[String]): Seq[Int] =
    if (relation.identity == 'f') key(relation, primary)
    else relation.columns.indices.filter(relation.columns(_).isKey)
}

/** A value in a tuple.
  *
  * @param kind
  *   'n': NULL, 'u': not sent, since an update left it alone; 't': as text; 'b': binary
  */
final private[cdc] case class TupleValue(kind: Byte, bytes: Bytes) {
  def isUnchanged: Boolean = kind == 'u'

  def sameAs(other: TupleValue): Boolean = kind == other.kind && util.Arrays.equals(
    bytes.array,
    bytes.offset,
    bytes.offset + bytes.length,
    other.bytes.array,
    other.bytes.offset,
    other.bytes.offset + other.bytes.length)
}

private[cdc] object TupleValue {

  /** The value of a column. */
  def of(tuple: Bytes, column: Int): TupleValue = {
    val in = java.nio.ByteBuffer.wrap(tuple.array, tuple.offset, tuple.length)
    in.getShort(): Unit
    def next(): TupleValue = {
      val kind = in.get()
      if (kind == 'n' || kind == 'u') TupleValue(kind, Bytes(tuple.array, in.position(), 0))
      else {
        val length = in.getInt()
        val value = TupleValue(kind, Bytes(tuple.array, in.position(), length))
        in.position(in.position() + length): Unit
        value
      }
    }
    (0 until column).foreach(_ => next())
    next()
  }
}
