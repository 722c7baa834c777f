package io.epochal.cdc.change

import java.util.zip.CRC32C

import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.cdc.pgoutput.{Bytes, OldTuple}

/** Keeps the changes of one table, each with its transaction.
  *
  * @param table
  *   its OID
  * @param store
  *   keeps a frame
  */
final private[cdc] class ChangeRecording(val table: Int, store: Bytes => Unit) {
  private val builder = new FrameBuilder
  private var open = Option.empty[CommittedTransaction]

  def add(
      transaction: CommittedTransaction,
      kind: RowChange,
      relation: Relation,
      old: Option[OldTuple],
      row: Option[Bytes]): Unit = {
    if (!open.contains(transaction)) {
      builder.end(complete = true): Unit
      open = Some(transaction)
      builder.begin(transaction, 0, new CRC32C)
    }
    builder.add(kind, relation, old, row)
    if (builder.size >= ChangeIntake.FrameBytes) flush()
  }

  /** Stores what is not stored yet. */
  def flush(): Unit = {
    builder.end(complete = true): Unit
    open = None
    if (builder.rows > 0) store(builder.frame(ChangeState.Empty).payload)
  }
}
