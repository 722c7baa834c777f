package io.epochal.jdbc.commit

import java.sql.Connection

import scala.collection.concurrent.TrieMap

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.ledger.Position
import io.epochal.jdbc.database.{BulkRun, Database, Transaction}
import io.epochal.jdbc.dialect.Dialects
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.jdbc.table.Interference
import io.epochal.kit.sink.flush.RowFlush
import io.epochal.kit.sink.row.EncodedRows

/** Stores a task partition's rows and progress in one transaction.
  *
  * {{{
  *   begin ── rows into the table ── progress: from → to, if it is at `from` and the run may write ── COMMIT
  *                                              │ not                                             │ response lost
  *                                              ▼                                                 ▼
  *                       fenced, overtaken, failed, other table            lock the row: at `to` it landed, at `from` again
  * }}}
  *
  * Each flush holds a pooled connection while it runs. `toString` contains no secrets.
  */
final private[jdbc] case class JdbcFlush(options: JdbcOptions, run: BulkRun, queryId: String) extends RowFlush {

  @transient private lazy val database = new Database(Dialects.of(options.connection.url).get, options, () => ())

  /** Where each partition's progress row is after its last flush. */
  @transient private lazy val places = TrieMap.empty[Int, String]

  private def progress(connection: Connection): ProgressTable =
    new ProgressTable(database.dialect, run.table.trust, connection, run.sinkId)

  private def attempt[A](step: String)(body: Transaction => A): A =
    database.attempt(step, Some(run.writer), Interference.diagnose(database, run, ProgressTable.Names))(body)

  override def applied(partition: Int): Position =
    attempt(s"the start of partition $partition") { transaction =>
      lockedProgress(transaction.connection, partition).applied
    }

  override def flush(partition: Int, epoch: Long, rows: EncodedRows, from: Position, to: Position): Unit =
    attempt(s"the flush of partition $partition in epoch $epoch") { transaction =>
      val connection = transaction.connection
      def landed = Option.when(lockedProgress(connection, partition).applied == to)(())
      transaction.doubt.resolve(epoch.toString)(landed).getOrElse {
        store(connection, epoch, rows)
        val place = progress(connection)
          .advance(run, queryId, partition, from, to, places.get(partition))
          .getOrElse(throw refusal(connection, partition, from))
        Failpoints.reach(Failpoint.BeforeFlushCommit)
        transaction.commit()
        places.update(partition, place)
        Failpoints.reach(Failpoint.AfterFlushCommit)
      }
    }

  private def store(connection: Connection, epoch: Long, rows: EncodedRows): Unit =
    database.dialect
      .load(connection, run.table, rows, options.batchSize)
      .check(epoch.toString, run.table.table.name)

  /** The partition's progress row, locked; fails if the run may not write any more. */
  private def lockedProgress(connection: Connection, partition: Int): PartitionProgress = {
    val partitionRow = progress(connection).partition(queryId, partition)
    partitionRow
      .filter(row => row.generation == run.generation && row.runId == run.runId)
      .getOrElse(throw run.fenced(partitionRow.map(_.generation)))
  }

  private def refusal(connection: Connection, partition: Int, from: Position): EpochalException = {
    val row = lockedProgress(connection, partition)
    row.failed match {
      case Some(reason) => Conditions.RunFailed("sinkId" -> run.sinkId, "reason" -> reason)
      case None if row.applied != from =>
        Conditions.FlushOvertaken(
          "partition" -> partition,
          "sinkId" -> run.sinkId,
          "found" -> row.applied.rows,
          "known" -> from.rows)
      case None => Interference.replaced(run)
    }
  }

  override def diverged(partition: Int, storedEnd: Position, deliveredEnd: Position): Nothing =
    throw Conditions.RowsNotRepeated(
      "partition" -> partition,
      "sinkId" -> run.sinkId,
      "rows" -> storedEnd.rows,
      "known" -> storedEnd.hex,
      "found" -> deliveredEnd.hex)

  override def lost(partition: Int, epoch: Long, deliveredEnd: Position, storedEnd: Position): Nothing =
    throw Conditions.ProgressLost(
      "sinkId" -> run.sinkId,
      "epoch" -> epoch,
      "reason" -> s"partition $partition had delivered ${deliveredEnd.rows} rows, but only ${storedEnd.rows} are stored")

  override def toString: String = s"flushes into ${options.connection.place}"
}
