package io.epochal.kit.connector

import java.nio.ByteBuffer

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._
import scala.util.control.NonFatal

import org.apache.spark.sql.Row
import org.apache.spark.sql.types.StructType
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Condition, Conditions, EpochalException}
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.ledger.{LedgerRow, LedgerText, ServerIdentity, Target}
import io.epochal.kit.sink._
import io.epochal.kit.sink.row.{ChunkedBytes, EncodedRows, RowEncoder, RowFormat}
import io.epochal.kit.sink.transport.Shipment
import io.epochal.kit.spark.memory.BinaryRow
import io.epochal.kit.spark.{SinkEngine, ValueRows}

/** The target of one query in a connector's system. */
final private[connector] class StoreTable(
    connector: SinkConnector,
    settings: Settings,
    querySchema: StructType,
    engine: SinkEngine)
    extends TransactionalTable(querySchema, engine) {

  override protected val sinkMetrics = new SinkMetrics(connector.shortName())
  override protected val sink = new StoreSink(connector, settings)
}

/** A connector's system as a transactional sink. The ledger's rows are the entries `sink:<id>`, and `retired:<id>:<query>` for
  * a query that another one has replaced. The entry `claims` is a lock.
  */
final private[connector] class StoreSink(connector: SinkConnector, options: Settings) extends TransactionalSink {
  import StoreSink._

  override val format: String = connector.shortName()
  override val place: String = connector.place(options)
  private val target = Target(connector.target(options), None)
  private[connector] val server: ServerIdentity = ServerIdentity(place, None)
  override val description: String = s"$format ${target.name} in $place"
  override val settings: SinkSettings = SinkOptions.settings(options.values)

  private val author = new AuthorCalls(format, options.retry, connector.isTransient)

  /** Locks the sink's own row first, which can wait for another transaction. Only then takes the lock that claims of other
    * sinks need too.
    */
  override def claim(run: Run, schema: StructType)(
      decide: LedgerState => Either[EpochalException, LedgerRow]): Claimed = {
    author("made its target ready")(connector.prepare(options, schema))
    attempt("claimed the sink", schema) { (open, _) =>
      val current = rowOf(open.lock(entry(run.sinkId)))
      open.lock(ClaimLock): Unit
      val all = open.ledger().asScala
      val others = all.toSeq
        .collect { case (name, text) if name.startsWith(Sinks) => text }
        .flatMap(rowOf)
        .filter(row => row.sinkId != run.sinkId && row.target.isTableOf(target))
      val storedRow = all.get(retiredKey(run.sinkId, run.queryId)).flatMap(rowOf)
      val row = decide(LedgerState(target, server, current, storedRow, others)).fold(throw _, identity)
      current.filter(_.queryId != row.queryId).foreach(retire(open, _))
      open.put(entry(row.sinkId), LedgerText.write(row))
      open.commit()
      Claimed(row, targetOf(schema, row.sinkId))
    }
  }

  override def prepare(id: String, schema: StructType): SinkTarget = {
    author("made its target ready")(connector.prepare(options, schema))
    targetOf(schema, id)
  }

  /** Runs `body` in a transaction that it commits itself, and again after a transient failure. */
  private[connector] def attempt[A](step: String, schema: StructType)(body: (StoreTransaction, CommitDoubt) => A): A = {
    val doubt = new CommitDoubt(losesConnection)
    try
      author(step) {
        val open = connector.begin(options, schema)
        try doubt.attempt(body(open, doubt))
        finally
          try open.close()
          catch { case NonFatal(error) => log.warn("{}: a transaction could not be closed: {}", format, error: Any) }
      }
    catch {
      case error: EpochalException if error.condition == Conditions.ConnectorFailed =>
        throw doubt.explained(place, error)
    }
  }

  private[connector] def invalid(member: String, reason: String): EpochalException = author.invalid(member, reason)

  private def losesConnection(error: Throwable): Boolean = error match {
    case one: Exception => connector.losesConnection(one)
    case _              => false
  }

  private[connector] def rowOf(text: String): Option[LedgerRow] =
    Option(text).filter(_.nonEmpty).map(LedgerText.read(_, place).fold(throw _, identity))

  private[connector] def retire(open: StoreTransaction, row: LedgerRow): Unit =
    open.put(retiredKey(row.sinkId, row.queryId), LedgerText.write(row))

  private def targetOf(schema: StructType, sinkId: String): SinkTarget =
    new StoreTarget(this, target.name, sinkId, schema, connector.rowCheck(options, schema).toScala)
}

private[connector] object StoreSink {
  private val log = LoggerFactory.getLogger(classOf[StoreSink])
  private val Sinks = "sink:"
  private val ClaimLock = "claims"

  def entry(sinkId: String): String = s"$Sinks$sinkId"
  private def retiredKey(sinkId: String, queryId: String): String = s"retired:$sinkId:$queryId"
}

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

  override def attempt[A](step: String)(body: SinkTransaction => A): A =
    sink.attempt(s"ran $step", schema)((open, doubt) => body(new StoreCommit(open, doubt)))

  final private class StoreCommit(open: StoreTransaction, override val doubt: CommitDoubt) extends SinkTransaction {

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

    override def commit(): Unit = doubt.commit(None)(open.commit())

    private def write(shipment: Shipment, whole: Boolean, epoch: String): Unit = {
      val taskRows = rows.decode(shipment.rows)
      val rowCount = open.write(taskRows.asJava, whole)
      if (taskRows.hasNext) throw sink.invalid("write", "it has not read all rows")
      if (rowCount != shipment.stored)
        throw Conditions.RowsDropped(
          "epoch" -> epoch,
          "table" -> name,
          "found" -> s"${shipment.stored} rows were sent, and $rowCount stored")
    }
  }
}

/** Rows in Spark's binary form on their way to the driver: int64 number of bytes, big-endian, then the bytes. */
final private[connector] case class BinaryRows(schema: StructType, check: Option[RowCheck]) extends RowFormat {
  final private val Head = 8

  override def encoder(out: ChunkedBytes): RowEncoder = new RowEncoder {
    private val values = new ValueRows(schema)

    override def encode(row: BinaryRow): Unit = {
      check.foreach(_.check(values.values(row.internal)))
      out.reserve(Head + row.sizeInBytes)
      out.putLong(row.sizeInBytes.toLong)
      out.putBytes(row.base, row.origin, row.sizeInBytes)
    }
  }

  /** Decodes the rows. Each chunk holds whole rows. */
  def decode(rows: EncodedRows): Iterator[Row] = {
    val values = new ValueRows(schema)
    val view = BinaryRow.empty(schema.length)
    rows.chunks.iterator.flatMap { case (bytes, count) =>
      Iterator.unfold(0) { at =>
        Option.when(at < count) {
          val size = ByteBuffer.wrap(bytes, at, Head).getLong.toInt
          view.pointTo(bytes, at + Head, size)
          (values.values(view.internal), at + Head + size)
        }
      }
    }
  }
}
