package io.epochal.jdbc.postgres

import java.sql.Connection

import io.epochal.jdbc.database.BulkRun
import io.epochal.jdbc.option.QualifiedName
import io.epochal.jdbc.sql.Sql
import io.epochal.jdbc.sql.SqlText._
import io.epochal.kit.sink.transport.TaskAttempt

/** Id of a prepared transaction: `epochal_<sink>_<generation>_<epoch>_<partition>_<attempt>_<token>`.
  *
  * @param sink
  *   16 hexadecimal digits, a hash of the ledger's schema and the sink id
  */
final private[postgres] case class Gid(sink: String, generation: Long, rest: String) {
  override def toString: String = s"epochal_${sink}_${generation}_$rest"
}

private[postgres] object Gid {
  def of(run: BulkRun, attempt: TaskAttempt, token: String): Gid = Gid(
    run.writer.sink,
    run.generation,
    s"${attempt.epoch}_${attempt.partition}_${attempt.taskId}_${token.replace("-", "").take(16)}")

  private val Form = "epochal_([0-9a-f]{16})_(\\d+)_([0-9a-f_]+)".r

  def parse(text: String): Option[Gid] = text match {
    case Form(sink, generation, rest) => Some(Gid(sink, generation.toLong, rest))
    case _                            => None
  }
}

/** The table `epochal_prepared` of one sink, beside the server's own list of prepared transactions; see
  * [[PostgresPrepared]]. All inside the caller's transaction.
  */
final private[postgres] class DecidedTransactions(run: BulkRun) {
  private val table = QualifiedName(run.table.table.name.schema, "epochal_prepared")
  private val decided = PostgresDialect.quote(table)
  private val ledger = PostgresBulk.ledger(run)

  def create(connection: Connection): Unit =
    if (!exists(connection))
      Sql.run(
        connection,
        s"CREATE TABLE $decided (gid text PRIMARY KEY, sink_id text NOT NULL, epoch bigint NOT NULL) WITH (fillfactor = 50)")

  /** Those of this sink that the server holds prepared. */
  def prepared(connection: Connection): Seq[Gid] =
    Sql
      .query(
        connection,
        "SELECT gid FROM pg_prepared_xacts WHERE database = current_database() AND starts_with(gid, ?)",
        s"epochal_${run.writer.sink}_")(_.getString(1))
      .flatMap(Gid.parse)

  /** Decides an epoch. Those of the epoch before have been committed, or this one would not be decided; but a replica that
    * was promoted since may not have got a COMMIT PREPARED. So what is still prepared stays decided.
    */
  def replace(connection: Connection, epoch: Long, gids: Seq[String]): Unit = {
    Sql.update(
      connection,
      sql"""DELETE FROM $decided AS d WHERE sink_id = ? AND NOT EXISTS (
         |SELECT FROM pg_prepared_xacts AS p WHERE p.gid = d.gid AND p.database = current_database())""",
      run.sinkId
    ): Unit
    gids.foreach(gid =>
      Sql.update(connection, s"INSERT INTO $decided (gid, sink_id, epoch) VALUES (?, ?, ?)", gid, run.sinkId, epoch))
  }

  def forget(connection: Connection): Unit =
    if (exists(connection)) Sql.update(connection, s"DELETE FROM $decided WHERE sink_id = ?", run.sinkId): Unit

  private def exists(connection: Connection): Boolean = TrustedTables.exists(connection, table, run.table.trust)

  /** Of this run and older ones, also of a ledger that is gone and had counted further: what is decided, and what never will
    * be. Empty for a run that was replaced.
    */
  def unsettled(connection: Connection): (Seq[String], Seq[String]) =
    if (!run.isCurrent(ledger.lockedOwner(connection, run.sinkId))) (Nil, Nil)
    else {
      val known =
        if (exists(connection))
          Sql.query(connection, s"SELECT gid FROM $decided WHERE sink_id = ?", run.sinkId)(_.getString(1)).toSet
        else Set.empty[String]
      prepared(connection).map(_.toString).partition(known)
    }
}
