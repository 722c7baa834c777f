package io.epochal.jdbc.commit

import java.sql.{Connection, ResultSet}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.{AppliedEpoch, ContentDigest, LedgerRow, ServerIdentity, Target}
import io.epochal.jdbc.database._
import io.epochal.kit.database.SqlText._
import io.epochal.kit.database.{QualifiedName, Sql}
import io.epochal.kit.sink.Run

/** The ledger's tables in the target's database and schema; `docs/PROTOCOL.md` lists their columns.
  *
  *   - `epochal_ledger`: one row per sink id, the only one that decides anything
  *   - `epochal_ledger_retired`: rows of queries that were taken over from, in case they return
  *   - `epochal_ledger_history`: the latest epochs, for people
  *   - `epochal_ledger_lock`: one row that claims lock, only in databases without a better lock
  *
  * All methods run in the caller's transaction.
  *
  * @param trust
  *   the target whose ledger it is, and who may have created it
  * @param place
  *   shown in messages
  */
final class LedgerTable(dialect: Dialect, trust: Trust, place: String) extends KeptTables(dialect, trust) {
  import LedgerTable._

  private val ledger = quoted("epochal_ledger")
  private val retiredTable = quoted("epochal_ledger_retired")
  private val history = quoted("epochal_ledger_history")
  private val claiming = quoted("epochal_ledger_lock")
  private val rowCount = Sql.raw(words.column("rows"))
  private val number = Sql.raw(words.column("number"))

  /** The sink's rows in the progress tables of the same schema. */
  private[jdbc] def progress(connection: Connection, sinkId: String): ProgressTable =
    new ProgressTable(dialect, trust, connection, sinkId)

  /** The comparisons of the sink's tables. */
  private[jdbc] def verifications(sinkId: String): VerificationTable = new VerificationTable(dialect, trust, sinkId)

  /** Creates missing tables. Claims are serialized, so no two create them concurrently. */
  def create(connection: Connection): Unit = {
    import words.{bigint, text, timestamp}
    val (rows, place) = (words.column("rows"), words.column("number"))
    val row =
      text"""sink_id $text NOT NULL, v $bigint NOT NULL, query_id $text NOT NULL, target $text NOT NULL, target_oid $bigint,
         |last_epoch $bigint, trigger_mode $text, offsets_hash $text, digest $text, $rows $bigint,
         |epochs $bigint NOT NULL, total_rows $bigint NOT NULL, generation $bigint NOT NULL, run_id $text NOT NULL,
         |server_id $text NOT NULL, timeline $bigint, created_at $timestamp NOT NULL, updated_at $timestamp NOT NULL"""
    make(connection, "epochal_ledger", s"$row, PRIMARY KEY (sink_id)")
    make(connection, "epochal_ledger_retired", s"$row, PRIMARY KEY (sink_id, query_id)")
    make(
      connection,
      "epochal_ledger_history",
      text"""sink_id $text NOT NULL, $place $bigint NOT NULL, epoch $bigint NOT NULL, query_id $text NOT NULL,
         |run_id $text NOT NULL, generation $bigint NOT NULL, target $text NOT NULL, trigger_mode $text NOT NULL,
         |offsets_hash $text, digest $text NOT NULL, $rows $bigint NOT NULL, committed_at $timestamp NOT NULL,
         |PRIMARY KEY (sink_id, $place)"""
    )
  }

  /** Creates the row that claims lock in databases without a lock of their own. */
  def createLock(connection: Connection): Unit = {
    make(connection, "epochal_ledger_lock", s"id ${words.bigint} NOT NULL, PRIMARY KEY (id)")
    def exists: Boolean = sql"SELECT id FROM $claiming".query(connection)(_.getLong(1)).nonEmpty
    val table = words.table(qualified("epochal_ledger_lock"))
    if (!exists) Sql.create(connection, s"INSERT INTO $table (id) VALUES (1)")(exists)
  }

  /** Waits until no other claim is in progress. */
  def takeLock(connection: Connection): Unit = sql"UPDATE $claiming SET id = id".run(connection)

  /** The sink's row, locked until the transaction ends. */
  def lock(connection: Connection, sinkId: String): Option[LedgerRow] = {
    if (words.locksByUpdate) sql"UPDATE $ledger SET v = v WHERE sink_id = $sinkId".run(connection)
    lockingSelect(sinkId).query(connection)(read).headOption
  }

  private def lockingSelect(sinkId: String): Sql = sql"SELECT * FROM $ledger WHERE sink_id = $sinkId$forUpdate"

  /** The same, as the transaction's first statement. */
  private[jdbc] def lock(transaction: Transaction, sinkId: String, load: Option[PreparedLoad]): Option[LedgerRow] =
    if (words.locksByUpdate) lock(transaction.connection, sinkId)
    else transaction.first(lockingSelect(sinkId), load)(read).headOption

  /** The sink's row. Takes no lock. */
  def find(connection: Connection, sinkId: String): Option[LedgerRow] =
    sql"SELECT * FROM $ledger WHERE sink_id = $sinkId".query(connection)(read).headOption

  /** The sink's row; None also if there is no ledger. Takes no lock. */
  def row(connection: Connection, sinkId: String): Option[LedgerRow] =
    if (exists(connection)) find(connection, sinkId) else None

  /** The error of a fenced run: one whose sink has since been claimed by another. Takes no lock. */
  def fenced(connection: Connection, run: BulkRun): Option[EpochalException] = {
    val current = find(connection, run.sinkId)
    Option.unless(run.isCurrent(current))(run.fenced(current.map(_.generation)))
  }

  /** Whether all tables exist that the repair tools read and write. */
  def isComplete(connection: Connection): Boolean = WriteNeeds.LedgerTables.forall(exists(connection, _))

  /** Whether the ledger exists. */
  def exists(connection: Connection): Boolean = exists(connection, "epochal_ledger")

  /** The query's own row from before another query took the sink over. */
  def earlier(connection: Connection, sinkId: String, queryId: String): Option[LedgerRow] =
    sql"SELECT * FROM $retiredTable WHERE sink_id = $sinkId AND query_id = $queryId".query(connection)(read).headOption

  /** Other sinks on the target: matched by its table id where it has one, since a table can be renamed. For the run's own query
    * the name suffices: its table may have been recreated, or restored from a dump.
    */
  def others(connection: Connection, run: Run, target: Target): Seq[LedgerRow] = {
    val sameName = sql"target = ${target.name}"
    val same = target.oid.fold(sameName)(oid => sql"(target_oid = $oid OR ($sameName AND query_id = ${run.queryId}))")
    sql"SELECT * FROM $ledger WHERE $same AND sink_id <> ${run.sinkId} ORDER BY sink_id".query(connection)(read)
  }

  /** Whether a sink has committed epochs since the last claim of one of its tables, in runs without that table. */
  private[jdbc] def leavesOut(connection: Connection, sinkId: String, table: LedgerRow): Boolean =
    sql"""SELECT $number FROM $history WHERE sink_id = $sinkId AND run_id <> ${table.runId}
         |AND committed_at > (SELECT updated_at FROM $ledger WHERE sink_id = ${table.sinkId})"""
      .query(connection)(_.getLong(1))
      .nonEmpty

  /** Writes a claim's decision; the row of a replaced query is retired. */
  def claim(connection: Connection, before: Option[LedgerRow], row: LedgerRow): Unit = {
    import row.{generation, queryId, runId, server, sinkId}
    before.filter(_.queryId != queryId).foreach(retire(connection, _))
    if (before.isEmpty)
      sql"""INSERT INTO $ledger (sink_id, v, query_id, target, generation, run_id, server_id, epochs, total_rows, created_at, updated_at)
         |VALUES ($sinkId, $Version, $queryId, ${row.target.name}, $generation, $runId, ${server.id},
         |(SELECT COALESCE(max($number), 0) FROM $history WHERE sink_id = $sinkId), 0, $now, $now)""".run(connection)
    sql"""UPDATE $ledger SET v = $Version, query_id = $queryId, target = ${row.target.name}, target_oid = ${row.target.oid},
       |${setLast(
        row.last)}, generation = $generation, run_id = $runId, server_id = ${server.id}, timeline = ${server.timeline},
       |updated_at = $now WHERE sink_id = $sinkId""".run(connection)
  }

  private def setLast(last: Option[AppliedEpoch]): Sql =
    sql"""last_epoch = ${last.map(_.epoch)}, trigger_mode = ${last.map(_.trigger.name)},
       |offsets_hash = ${last.flatMap(_.offsetsHash)}, digest = ${last.map(_.digest.hex)},
       |$rowCount = ${last.map(_.digest.rows)}"""

  /** Assigns the row to another query and target; its former state is retired. */
  def takeOver(connection: Connection, before: LedgerRow, queryId: String, target: Target): Unit = {
    retire(connection, before)
    sql"""UPDATE $ledger SET query_id = $queryId, target = ${target.name}, target_oid = ${target.oid}
       |WHERE sink_id = ${before.sinkId}""".run(connection)
  }

  private def retire(connection: Connection, row: LedgerRow): Unit = {
    sql"DELETE FROM $retiredTable WHERE sink_id = ${row.sinkId} AND query_id = ${row.queryId}".run(connection)
    // By name: tables created by hand may have their columns in another order.
    val columns =
      sql"""sink_id, v, query_id, target, target_oid, last_epoch, trigger_mode, offsets_hash, digest, $rowCount, epochs, total_rows,
         |generation, run_id, server_id, timeline, created_at, updated_at"""
    sql"INSERT INTO $retiredTable ($columns) SELECT $columns FROM $ledger WHERE sink_id = ${row.sinkId}".run(connection)
  }

  /** SQL condition on the ledger row: the run's table and its column types are still those that the rows were encoded for. The
    * load holds a lock on the table, so this holds until the COMMIT.
    */
  def isUnchanged(run: BulkRun): Sql = {
    val same = Sql.raw(words.same("target_oid", dialect.catalog.identitySql(run.table.table.name)))
    sql"$same AND ${Sql.raw(dialect.catalog.shapeSql(run.table))} = ${run.shape}"
  }

  /** Records the epoch as applied.
    *
    * @param isUnchanged
    *   as above
    * @param balance
    *   rows added to the table on balance; None: the number of the epoch's rows
    * @return
    *   false if the table changed: the transaction must be rolled back
    */
  def record(connection: Connection, row: LedgerRow, isUnchanged: Sql, balance: Option[Long] = None): Boolean = {
    val updates = update(row, isUnchanged, balance).update(connection)
    if (updates == 1L) {
      sql"INSERT INTO ${historyRow(ledger)} WHERE sink_id = ${row.sinkId}".run(connection)
      prune(row).foreach(_.run(connection))
    }
    updates == 1L
  }

  /** The same as statements that fail if the row has changed; None: the database has none. */
  private[jdbc] def recording(row: LedgerRow, isUnchanged: Sql): Option[Seq[Sql]] =
    words.changeOne(update(row, isUnchanged, None), historyRow(sql"changed")).map(_ +: prune(row).toSeq)

  private def update(row: LedgerRow, isUnchanged: Sql, balance: Option[Long]): Sql =
    sql"""UPDATE $ledger SET ${setLast(row.last)}, epochs = epochs + 1,
       |total_rows = total_rows + ${balance.getOrElse(row.last.get.digest.rows)}, updated_at = $now
       |WHERE sink_id = ${row.sinkId} AND generation = ${row.generation} AND run_id = ${row.runId}
       |AND $isUnchanged"""

  private def historyRow(from: Sql): Sql =
    sql"""$history (sink_id, $number, epoch, query_id, run_id, generation, target, trigger_mode, offsets_hash,
       |digest, $rowCount, committed_at)
       |SELECT sink_id, epochs, last_epoch, query_id, run_id, generation, target, trigger_mode, offsets_hash, digest, $rowCount,
       |updated_at FROM $from"""

  private def prune(row: LedgerRow): Option[Sql] =
    Option.when(row.last.get.epoch % Prune == 0)(sql"""DELETE FROM $history WHERE sink_id = ${row.sinkId}
       |AND $number <= (SELECT epochs - ${Sql.raw(Keep.toString)} FROM $ledger WHERE sink_id = ${row.sinkId})""")

  /** For repairs, under the row's lock: sets the last applied epoch. Like a claim, it raises the generation, so that an active run
    * is fenced.
    */
  def correct(connection: Connection, sinkId: String, runId: String, appliedEpoch: AppliedEpoch): Unit =
    sql"""UPDATE $ledger SET ${setLast(Some(appliedEpoch))}, generation = generation + 1, run_id = $runId,
       |updated_at = $now WHERE sink_id = $sinkId""".run(connection)

  /** For repairs: deletes all of the sink's rows, and those of its tables, except the history. */
  def forget(connection: Connection, sinkId: String): Unit = {
    Some(verifications(sinkId)).filter(_.exists(connection)).foreach(_.forget(connection))
    val ofTables = find(connection, sinkId).toSeq.flatMap { row =>
      sql"SELECT sink_id FROM $ledger WHERE query_id = ${row.queryId}".query(connection)(_.getString(1))
    }
    (sinkId +: ofTables.filter(_.startsWith(s"$sinkId/"))).foreach { id =>
      Seq(ledger, retiredTable).foreach(table => sql"DELETE FROM $table WHERE sink_id = $id".run(connection))
    }
  }

  /** For people: the ids of all sinks. */
  def sinks(connection: Connection): Seq[String] =
    sql"SELECT sink_id FROM $ledger ORDER BY sink_id".query(connection)(_.getString(1))

  /** For people: the sink's row in the ledger, if any, and the rows of queries that were replaced. */
  def describe[A](connection: Connection, sinkId: String)(row: ResultSet => A): (Option[A], Seq[A]) = (
    sql"SELECT * FROM $ledger WHERE sink_id = $sinkId".query(connection)(row).headOption,
    sql"SELECT * FROM $retiredTable WHERE sink_id = $sinkId ORDER BY updated_at".query(connection)(row))

  /** For people: the latest epochs, newest first. */
  def latest[A](connection: Connection, sinkId: String, epochs: Int)(line: ResultSet => A): Seq[A] =
    sql"""SELECT * FROM $history WHERE sink_id = $sinkId
       |AND $number > (SELECT epochs - ${Sql.raw(epochs.toString)} FROM $ledger WHERE sink_id = $sinkId)
       |ORDER BY $number DESC""".query(connection)(line)

  private def read(rows: ResultSet): LedgerRow = {
    val version = rows.getLong("v")
    if (version > Version)
      throw Conditions.LedgerVersionUnsupported(
        "url" -> place,
        "sinkId" -> rows.getString("sink_id"),
        "found" -> version,
        "supported" -> Version)
    LedgerRow(
      rows.getString("sink_id"),
      rows.getString("query_id"),
      Target(rows.getString("target"), Sql.long(rows, "target_oid")),
      Sql.long(rows, "last_epoch").map(appliedEpoch(rows, _)),
      rows.getLong("generation"),
      rows.getString("run_id"),
      ServerIdentity(rows.getString("server_id"), Sql.long(rows, "timeline"))
    )
  }

  private def appliedEpoch(rows: ResultSet, epoch: Long): AppliedEpoch = AppliedEpoch(
    epoch,
    trigger(rows),
    Option(rows.getString("offsets_hash")),
    ContentDigest.parse(rows.getLong("rows"), rows.getString("digest"))
  )
}

object LedgerTable {

  /** Version of the rows that this release writes; it reads all versions up to this one. */
  val Version = 1L

  /** Epochs that the history keeps for each sink. Up to `Prune` more accumulate before they are removed together. */
  val Keep = 1000L
  private val Prune = 100L

  /** The ledger beside a target. The target's owner, among others, is trusted with it. */
  def of(database: Database, target: QualifiedName): LedgerTable =
    new LedgerTable(database.dialect, Trust(target, database.options.trustedOwners), database.place)
}
