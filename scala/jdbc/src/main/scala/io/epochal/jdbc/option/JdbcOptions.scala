package io.epochal.jdbc.option

import java.time.Duration

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.option.{OptionGroup, OptionList, OptionSpec, OptionType, OptionValues, RetryOptions}
import io.epochal.core.retry.RetrySettings
import io.epochal.jdbc.row.NulCharacter
import io.epochal.kit.access.{DriverAccess, Secret}
import io.epochal.kit.database.{ConnectionOptions, ConnectionSettings, TableName}
import io.epochal.kit.sink.flush.FlushSettings
import io.epochal.kit.sink.{AsynchronousProgress, IdentityOptions, SinkSettings}

/** A query's options for the sink, checked. Columns are the query's, as the user spelled them.
  *
  * @param upsert
  *   rows replace, or delete, those of the same key
  * @param changes
  *   `mode=changes`
  */
final class JdbcOptions private (
    @transient private val values: OptionValues,
    val connection: ConnectionSettings,
    val upsert: Boolean,
    val changes: Boolean)
    extends Serializable {
  import JdbcOptions._

  val table: TableName = values(DbTable)

  /** With the name of each row's table; None: all rows are of one table. */
  val tableColumn: Option[String] = values.get(TableColumn)

  /** Empty: rows have no key. */
  val keyColumns: Seq[String] = values.get(KeyColumns).getOrElse(Nil)
  val orderColumn: Option[String] = values.get(OrderColumn)

  /** Empty: all. */
  val updateColumns: Seq[String] = values.get(UpdateColumns).getOrElse(Nil)

  /** None: every row is to be stored. */
  val opColumn: Option[String] = values.get(OpColumn)

  /** From the query's column to the table's. */
  val columnMap: Seq[(String, String)] = values.get(ColumnMap).getOrElse(Nil)
  val alterColumns: Boolean = values(AlterColumns)
  val addColumns: Boolean = values(AddColumns) || alterColumns

  /** None: a bad row fails its epoch. */
  val deadLetterTable: Option[TableName] = values.get(DeadLetterTable)

  /** Whether a key column must compare texts as Spark does. */
  val comparesExactly: Boolean = values(Comparison) == "exact"
  val createTable: Boolean = values(CreateTable)
  val nulCharacter: NulCharacter = values(NulText)
  val trustedOwners: Seq[String] = values.get(TrustedOwners).getOrElse(Nil)
  val transport: TransportChoice = values(TransportName)
  val batchSize: Int = values(BatchSize)
  val lockTimeout: Duration = values(LockTimeout)
  val retry: RetrySettings = RetryOptions.settings(values)

  /** Options common to all transactional sinks. */
  val sink: SinkSettings = IdentityOptions
    .settings(values, InlineMaxBytes, SpillDirectory)
    .copy(
      badRowLimit = deadLetterTable.map(_ => values(MaxBadRows)),
      flush = FlushSettings(values(FlushInterval), values(FlushRows)))

  /** Keeps every change beside the replicas of several tables; None: only the replicas are kept. */
  val historyTable: Option[TableName] = values.get(HistoryTable)

  /** A copy for one table of several. */
  def of(table: TableName, keys: Seq[String]): JdbcOptions =
    new JdbcOptions(values.copyWith(DbTable, table).copyWith(KeyColumns, keys), connection, upsert, changes)

  /** A copy for the changes of one table of several. */
  def ofHistory(table: TableName): JdbcOptions =
    new JdbcOptions(values.copyWith(DbTable, table), connection, upsert = false, changes = false)

  /** A copy for tasks, which cannot read a password from its file: it is read now. */
  def forTasks: JdbcOptions =
    if (connection.password.forall(_.isInstanceOf[Secret.Given])) this
    else new JdbcOptions(values, connection.resolved, upsert, changes)
}

object JdbcOptions extends OptionList {
  val Format = "epochal-jdbc"

  val Url = option("url", OptionType.string, sample = Some("jdbc:sqlite:comments.db"), required = true)(
    "JDBC URL: jdbc:postgresql:, jdbc:mysql:, jdbc:mariadb:, jdbc:sqlite:, or another driver's on the class path.")
  val DbTable = option("dbtable", ConnectionOptions.Table, sample = Some("comments"), required = true)(
    "Table to write. Double-quoted parts match exactly; others are tried as written, then in the database's case.")
  val TableColumn = option("tableColumn", OptionType.string, sample = Some("_table"))(
    "Query column with the name of each row's table; the row is in the STRUCT column of that name. dbtable is then a pattern: {table} and {schema} stand for the parts of that name.")
  val HistoryTable = option("historyTable", ConnectionOptions.Table, sample = Some("{table}_history"))(
    "Pattern, such as {table}_history, for the names of further tables that get every change as a row (mode=changes). Unset: none.")
  ConnectionOptions.Login.foreach(also(_))
  val Driver = option("driver", OptionType.string, sample = Some("org.postgresql.Driver"))(
    "JDBC driver class. Unset: the usual one for the URL.")
  also(ConnectionOptions.Properties): Unit
  val MaxConnections = option("maxConnections", OptionType.int(2, 1000), sample = Some("4"))(
    "Maximum connections per JVM (driver, executor) and login; tasks wait for a free one. Unset: 16 on PostgreSQL, 2 on SQLite, else 8.")
  also(IdentityOptions.SinkId): Unit
  val Mode = option("mode", OptionType.oneOf("append", "upsert", "changes"))(
    "append adds rows; upsert replaces those with the same keyColumns; changes also deletes, by opColumn. Unset: changes with opColumn, upsert with keyColumns, else append.")
  val KeyColumns = option("keyColumns", OptionType.names, sample = Some("id"))(
    "Columns that identify a row; the table needs a primary key or unique index on exactly these.")
  val OrderColumn = option("orderColumn", OptionType.string, sample = Some("updatedAt"))(
    "Of rows with the same key in one epoch, the one with the greatest value is kept. Unset: an error.")
  val Comparison = option("keyComparison", OptionType.oneOf("exact", "database"), Some("exact"))(
    "For key columns that equate texts which differ in Spark (by case, accents, trailing spaces, or a type such as citext): exact refuses them, database accepts them as one key.")
  val UpdateColumns = option("updateColumns", OptionType.names, sample = Some("body,updatedAt"))(
    "Columns to replace in existing rows. Unset: all but the keys.")
  val OpColumn = option("opColumn", OptionType.string, sample = Some("op"))(
    "Query column, not stored, with each row's operation: insert (i, c, r), update (u) or delete (d), in any case (mode=changes). Unset: _change_type, if the query is a change feed.")
  val ColumnMap = option("columnMap", OptionType.pairs, sample = Some("id:comment_id,body:text"))(
    "Columns whose names differ, as query:table pairs.")
  val AddColumns = option("addColumns", OptionType.boolean, Some(false))(
    "Whether to add columns that the table lacks, nullable, in the transaction of the first epoch with them.")
  val AlterColumns = option("alterColumns", OptionType.boolean, Some(false))(
    "Whether to add missing columns, to give columns the query's wider types, and to drop NOT NULL where the query lacks the column, or its source can be NULL (mode=changes).")
  val DeadLetterTable = option("deadLetterTable", ConnectionOptions.Table, sample = Some("comments_bad"))(
    "Table for rows that cannot be stored, written in their epoch's transaction; created if missing. Unset: such a row fails its epoch.")
  val MaxBadRows = option("maxBadRows", OptionType.int(0, 1000000), Some(1000))(
    "Maximum rows per epoch in deadLetterTable; more fail the epoch.")
  val CreateTable = option("createTable", OptionType.boolean, Some(false))(
    "Whether to create a missing table from the query's columns.")
  val NulText = option("nulCharacter", OptionType.choice(NulCharacter.all)(_.name), Some(NulCharacter.Error))(
    "Handling of U+0000 in texts and JSON: a bad row (error), removal (strip), or U+FFFD (replace).")
  also(IdentityOptions.NewQuery): Unit
  also(IdentityOptions.LedgerEmpty): Unit
  also(IdentityOptions.EpochMismatch): Unit
  val TrustedOwners = option("trustedOwners", OptionType.names, sample = Some("warehouse_admin"))(
    "PostgreSQL: further roles that may own the sink's ledger, staging and table of bad rows. Always trusted are its own role, the owners of the target and its schema, superusers, and roles that can act as these.")
  val TransportName = option("transport", OptionType.choice(TransportChoice.all)(_.name), Some(TransportChoice.Auto))(
    "inline: rows travel in commit messages, through the driver. staged: tasks load staging tables, from which the committing transaction moves rows. prepared (append only): tasks prepare transactions, which the driver commits one by one. auto: inline; for tasks beyond their share of inlineMaxBytes staged or, without staging, files beside the checkpoint.")
  val InlineMaxBytes = option("inlineMaxBytes", OptionType.bytes, Some(64L << 20))(
    "Maximum encoded bytes of an epoch in commit messages. Beyond it transport=inline fails; with auto, tasks over their share use staging, or files without it.")
  val SpillDirectory = option("spillDirectory", OptionType.string, sample = Some("s3a://bucket/spill"))(
    "Directory, reachable by driver and executors, for rows beyond inlineMaxBytes without staging (all but PostgreSQL). Unset: the checkpoint; for a batch a temporary directory in local mode, none on a cluster.")
  val BatchSize = option("batchSize", OptionType.int(1, 100000), Some(200))(
    "Maximum rows per INSERT, within the database's parameter limit, where neither COPY (PostgreSQL), LOAD DATA LOCAL (MySQL, MariaDB) nor MariaDB's bulk protocol loads an epoch.")
  val LockTimeout = option("lockTimeout", OptionType.duration, Some(Duration.ofSeconds(30)))(
    "Maximum wait of one attempt for a database lock.")
  val FlushInterval = option("flushInterval", OptionType.duration, Some(Duration.ofMillis(10)))(
    "Continuous and real-time triggers: minimum time between the starts of a task's transactions; rows gather in the meantime.")
  val FlushRows = option("flushRows", OptionType.int(1, 1000000), Some(10000))(
    "Continuous and real-time triggers: gathered rows that are stored before flushInterval ends.")

  val group: OptionGroup = OptionGroup(
    Format,
    "Writes to a database table: streaming writes exactly once by a ledger in the same database, batch writes in one transaction.",
    all ++ RetryOptions.all
  )

  def read(raw: Map[String, String]): Either[EpochalException, JdbcOptions] =
    for {
      values <- group.parse(raw)
      _ <- synchronousProgress(raw)
      mode = values.get(Mode)
      keyed = values.isSet(KeyColumns)
      changes = values.isSet(OpColumn)
      upsert = mode.fold(keyed || changes)(_ != "append")
      _ <- values.consistent(upsert || !values.isSet(UpdateColumns))(
        "{option:updateColumns}, {option:mode=append}",
        "{option:updateColumns} chooses what a row of the same key replaces: set {option:keyColumns}, or leave {option:updateColumns} out.")
      _ <- values.consistent(!changes || mode.forall(_ == "changes"))(
        s"{option:opColumn}, {option:mode=${mode.getOrElse("")}}",
        "{option:opColumn} says of each row what it does: set {option:mode=changes}, or leave {option:opColumn} out.")
      _ <- values.consistent(!values.isSet(MaxBadRows) || values.isSet(DeadLetterTable))(
        "{option:maxBadRows}, no {option:deadLetterTable}",
        "Without {option:deadLetterTable} the first bad row fails its epoch: set it, or leave {option:maxBadRows} out.")
      isSeveral = values.isSet(TableColumn)
      _ <- values.consistent(!isSeveral || mode.exists(_ != "upsert"))(
        s"{option:tableColumn}, ${mode.fold("no {option:mode}")(name => s"{option:mode=$name}")}",
        "Set {option:mode=changes} to keep replicas, or {option:mode=append} to store every change.")
      _ <- values.consistent(
        values.get(HistoryTable).forall(name => isSeveral && mode.contains("changes") && TableRule.isRule(name)))(
        s"{option:historyTable=${values.get(HistoryTable).fold("")(_.toString)}}",
        "It needs {option:tableColumn}, {option:mode=changes} and {table} in the name, such as {option:historyTable={table}_history}.")
      _ <- OfOneTable
        .find(option => isSeveral && values.isSet(option))
        .map(_.reference)
        .map { one =>
          values.conflict(
            s"{option:tableColumn}, $one",
            s"$one does not work with rows of several tables: leave it out.")
        }
        .toLeft(())
      _ <- values.consistent(
        !isSeveral || Seq(TransportChoice.Auto, TransportChoice.Inline).contains(values(TransportName)))(
        s"{option:tableColumn}, {option:transport=${values(TransportName).name}}",
        "Rows of several tables travel through the driver: leave {option:transport} out.")
      _ <- values.consistent(isSeveral == TableRule.isRule(values(DbTable)))(
        s"{option:dbtable=${values(DbTable)}}, ${if (isSeveral) "" else "no "}{option:tableColumn}",
        "With {option:tableColumn} the name of the target, after the schema, must contain {table}: replica_{table}, or replica.{schema}_{table} with a fixed schema. Without {option:tableColumn} it must not.")
      _ <- ensure(!upsert || keyed || isSeveral)(
        Conditions.KeyColumnsRequired("mode" -> s"mode=${mode.getOrElse(if (changes) "changes" else "upsert")}"))
      _ <- values.consistent(upsert || !values.isSet(OrderColumn))(
        "{option:orderColumn}, {option:mode=append}",
        "{option:orderColumn} chooses between rows of the same key: set {option:keyColumns}, or leave {option:orderColumn} out.")
      // In unique indexes, rows prepared by tasks would collide with the rows to be replaced.
      _ <- values.consistent(
        !values(IdentityOptions.NewQuery).replaces || values(TransportName) != TransportChoice.Prepared)(
        "{option:onNewQuery=replace}, {option:transport=prepared}",
        "Prepared transactions are written before the rows that they replace are deleted: leave {option:transport} out.")
      connection <- ConnectionOptions.settings(values, values(Url), values.get(Driver), values.get(MaxConnections))
      _ <- DriverAccess.checked(access => values.get(SpillDirectory).foreach(access.directory(SpillDirectory.name, _)))
    } yield new JdbcOptions(values, connection, upsert, changes || mode.contains("changes"))

  /** Options that name columns, or that rows of several tables cannot have. */
  private def OfOneTable: Seq[OptionSpec[_]] =
    Seq(KeyColumns, OrderColumn, UpdateColumns, OpColumn, ColumnMap, DeadLetterTable)

  /** Refusal: what the sink or a database cannot do, why, and what to do instead. */
  private[jdbc] def unsupported(mode: String, reason: String, suggestion: String): EpochalException =
    group.unsupported(mode, reason, suggestion)

  private[jdbc] val noTransport = "Leave {option:transport} out."

  /** Refuses asynchronous progress tracking: Spark refuses it for this sink, but a hidden option overrides that. */
  private def synchronousProgress(raw: Map[String, String]): Either[EpochalException, Unit] =
    ensure(!AsynchronousProgress.isEnabled(raw) && !AsynchronousProgress.isForced(raw))(
      unsupported(
        "run with asynchronous progress tracking",
        "an epoch's offsets must be logged before its rows are committed, or a restart does not know which rows are still to be written",
        "Set asyncProgressTrackingEnabled to false, and leave the option that overrides Spark's check out."))
}
