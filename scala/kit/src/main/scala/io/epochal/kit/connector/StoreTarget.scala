package io.epochal.kit.connector

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.types.StructType

import io.epochal.core.error.{Condition, Conditions, EpochalException}
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.ledger.{LedgerRow, LedgerText, ServerIdentity}
import io.epochal.kit.sink.row.RowFormat
import io.epochal.kit.sink.transport.Shipment
import io.epochal.kit.sink.{SinkTarget, SinkTransaction}

/** What a run writes to, in a connector's system. */
final private[connector] class StoreTarget(
    sink: StoreSink,
    override val name: String,
    sinkId: String,
    schema: StructType,
    check: Option[RowCheck])
    extends SinkTarget {

  private val rows = BinaryRows(schema, check)

  override def place: String = sink.place
  override def rowFormat: RowFormat = rows

  override def transaction[A](step: String)(body: SinkTransaction => A): A =
    sink.transaction(s"ran $step", schema)(open => body(new StoreCommit(open)))

  override def losesConnection(error: Throwable): Boolean = sink.losesConnection(error)

  override def couldNotAsk(error: EpochalException): Boolean = error.condition == Conditions.ConnectorFailed

  final private class StoreCommit(open: StoreTransaction) extends SinkTransaction {

    override def server: ServerIdentity = sink.server

    override def ledgerRow(): Option[LedgerRow] = sink.rowOf(open.lock(StoreSink.entry(sinkId)))

    override def apply(shipment: Shipment, whole: Boolean, next: LedgerRow): Unit = {
      write(shipment, whole, next.last.fold(Condition.BatchWrite)(_.epoch.toString))
      Failpoints.reach(Failpoint.AfterLoad)
      adopt(next)
    }

    override def takeOver(before: LedgerRow, next: LedgerRow): Unit = sink.retire(open, before)

    override def adopt(next: LedgerRow): Unit = open.put(StoreSink.entry(sinkId), LedgerText.write(next))

    override def applyBatch(shipment: Shipment, whole: Boolean): Unit = write(shipment, whole, Condition.BatchWrite)

    override def commit(): Unit = open.commit()

    private def write(shipment: Shipment, whole: Boolean, epoch: String): Unit = {
      val brought = rows.decode(shipment.rows)
      val stored = open.write(brought.asJava, whole)
      if (brought.hasNext) throw sink.invalid("write", "it has not read all rows")
      if (stored != shipment.stored)
        throw Conditions.RowsDropped(
          "epoch" -> epoch,
          "table" -> name,
          "found" -> s"${shipment.stored} rows were sent, and $stored stored")
    }
  }
}
