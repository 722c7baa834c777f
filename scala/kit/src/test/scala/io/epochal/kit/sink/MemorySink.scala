package io.epochal.kit.sink

import java.io.IOException
import java.nio.ByteBuffer

import scala.collection.mutable

import org.apache.spark.sql.types.StructType

import io.epochal.core.error.EpochalException
import io.epochal.core.ledger.{LedgerRow, ServerIdentity, Target}
import io.epochal.kit.sink.row.{BadValue, ChunkedBytes, RowEncoder, RowFormat}
import io.epochal.kit.sink.transport.Shipment
import io.epochal.kit.spark.memory.BinaryRow

/** The numbers in a store, and its ledger, after the last COMMIT. */
final case class MemoryState(
    numbers: Vector[Long] = Vector.empty,
    ledger: Map[String, LedgerRow] = Map.empty,
    retired: Map[(String, String), LedgerRow] = Map.empty)

final class ResponseLost extends IOException("the connection was lost")

/** A system with one transaction at a time, which can simulate lost connections. */
final class MemoryStore {
  private val losses = mutable.Queue.empty[Boolean]
  @volatile private var last = MemoryState()

  def state: MemoryState = last

  /** The next COMMIT loses its response, after it has taken effect or before. */
  def loseResponse(landed: Boolean): Unit = losses.enqueue(landed): Unit

  def transaction[A](body: MemoryState => A): A = synchronized(body(last))

  def commit(state: MemoryState): Unit = {
    val loss = losses.removeHeadOption()
    if (!loss.contains(false)) last = state
    if (loss.nonEmpty) throw new ResponseLost
  }
}

/** The smallest transactional sink: one column of numbers. */
final class MemorySink(store: MemoryStore, override val settings: SinkSettings) extends TransactionalSink {
  override val format = "memory"
  override val place = "memory:"
  override val description = "memory numbers"

  override def claim(run: Run, schema: StructType)(
      decide: LedgerState => Either[EpochalException, LedgerRow]): Claimed = store.transaction { state =>
    val current = state.ledger.get(run.sinkId)
    val known = state.retired.get(run.sinkId -> run.queryId)
    val others = state.ledger.values.filter(_.sinkId != run.sinkId).toSeq
    val row =
      decide(LedgerState(MemorySink.target, MemorySink.server, current, known, others)).fold(throw _, identity)
    val replaced = current.filter(_.queryId != row.queryId).map(old => (old.sinkId, old.queryId) -> old)
    store.commit(state.copy(ledger = state.ledger.updated(row.sinkId, row), retired = state.retired ++ replaced))
    Claimed(row, new MemoryTarget(store, row.sinkId))
  }

  override def prepare(id: String, schema: StructType): SinkTarget = new MemoryTarget(store, id)
}

private object MemorySink {
  val target: Target = Target("numbers", None)
  val server: ServerIdentity = ServerIdentity("memory", None)
}

final private class MemoryTarget(store: MemoryStore, sinkId: String) extends SinkTarget {
  override val name = "numbers"
  override val place = "memory:"
  override val rowFormat: RowFormat = MemoryRows

  /** Retries once. */
  override def attempt[A](step: String)(body: SinkTransaction => A): A = {
    val doubt = new CommitDoubt(_.isInstanceOf[ResponseLost])
    def once(): A = doubt.attempt(store.transaction(state => body(new MemoryTransaction(store, sinkId, state, doubt))))
    try once()
    catch { case _: ResponseLost => once() }
  }
}

final private class MemoryTransaction(
    store: MemoryStore,
    sinkId: String,
    begun: MemoryState,
    override val doubt: CommitDoubt)
    extends SinkTransaction {
  private var state = begun

  override def server: ServerIdentity = MemorySink.server
  override def ledgerRow(): Option[LedgerRow] = state.ledger.get(sinkId)

  override def apply(shipment: Shipment, whole: Boolean, next: LedgerRow): Unit = {
    applyBatch(shipment, whole)
    adopt(next)
  }

  override def takeOver(before: LedgerRow, next: LedgerRow): Unit = state =
    state.copy(retired = state.retired.updated(before.sinkId -> before.queryId, before))

  override def adopt(next: LedgerRow): Unit = state = state.copy(ledger = state.ledger.updated(sinkId, next))

  override def applyBatch(shipment: Shipment, whole: Boolean): Unit = {
    val kept = if (whole) Vector.empty else state.numbers
    val brought = shipment.rows.chunks.flatMap { case (bytes, length) =>
      val numbers = ByteBuffer.wrap(bytes, 0, length)
      Seq.fill(length / 8)(numbers.getLong)
    }
    state = state.copy(numbers = kept ++ brought)
  }

  override def commit(): Unit = doubt.commit(None)(store.commit(state))
}

/** Eight bytes per row. */
private object MemoryRows extends RowFormat {

  override def encoder(out: ChunkedBytes): RowEncoder = new RowEncoder {
    override def encode(row: BinaryRow): Unit = {
      if (row.isNullAt(0)) throw new BadValue(0, BadValue.Missing)
      out.reserve(8)
      out.putLong(row.getLong(0))
    }
  }
}
