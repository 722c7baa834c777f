package io.epochal.cdc.change

import io.epochal.cdc.pgoutput.ChangeKind
import io.epochal.cdc.pgoutput.Message.{Change, Relation}
import io.epochal.core.error.Conditions

/** Which rows a change delivers.
  *
  * @param preimages
  *   whether an update also delivers the row before it
  */
final private[cdc] class ChangeRules(preimages: Boolean, onTruncate: OnTruncate) {

  /** @param identity
    *   indexes of the columns that identify a row
    */
  def rowChange(identity: Seq[Int], change: Change): RowChange = change.kind match {
    case ChangeKind.Insert            => RowChange.Insert
    case ChangeKind.Delete            => RowChange.Delete
    case _ if change.old.isEmpty      => RowChange.Update
    case _ if moves(identity, change) => RowChange.NewKey
    case _                            => if (preimages) RowChange.BothImages else RowChange.Update
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

  def deliversTruncate(table: Relation): Boolean = onTruncate match {
    case OnTruncate.Emit   => true
    case OnTruncate.Ignore => false
    case OnTruncate.Fail   => throw Conditions.TableTruncated("table" -> table.name)
  }
}
