package io.epochal.jdbc

import java.sql.Connection
import java.util

import org.apache.spark.sql.connector.catalog.{SupportsRead, TableCapability}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.{LedgerRow, OnLedgerEmpty}
import io.epochal.jdbc.commit.{JdbcTarget, LedgerClaim, LedgerTable, TargetTables}
import io.epochal.jdbc.database.{BoundTable, BulkRun, Database, Dialect, Trust}
import io.epochal.jdbc.option.{JdbcOptions, TransportChoice}
import io.epochal.jdbc.routing.QueryTables
import io.epochal.jdbc.table.{DeadLetterTable, Interference, Privileges, TableCheck}
import io.epochal.kit.record.ReplicaKey
import io.epochal.kit.sink._
import io.epochal.kit.spark.SinkEngine

/** The target of one query, for its lifetime. */
final private[jdbc] class JdbcTable(
    options: JdbcOptions,
    dialect: Dialect,
    querySchema: StructType,
    engine: SinkEngine
) extends TransactionalTable(querySchema, engine)
    with SupportsRead {

  override protected val sinkMetrics = new SinkMetrics(JdbcOptions.Format)
  private val database = new Database(dialect, options, () => sinkMetrics.retried())
  override protected val sink = new JdbcSink(database)

  /** Refuses options, tables, columns, types and keys that cannot work, and a login without the privileges. */
  def check(): Unit = {
    dialect.check(options).fold(throw _, identity)
    checkTransport()
    options.deadLetterTable.foreach(name => DeadLetterTable.nameable(dialect, name.table.text).fold(throw _, identity))
    val tables = JdbcTable.bindings(database, querySchema)
    val isMissing =
      if (database.isNew) {
        tables.foreach { case (of, schema) => checkNew(of.options, schema, None) }
        true
      } else
        database.inspect { connection =>
          dialect.check(connection).fold(throw _, identity)
          database.bulk.foreach(_.check(connection, append = !options.upsert).fold(throw _, identity))
          val bounds = tables.map { case (of, schema) => check(connection, of, schema) }
          if (options.tableColumn.nonEmpty) {
            TargetTables.rule(database, tables.map(_._1.options.table), connection): Unit
            if (bounds.exists(_.nonEmpty)) dialect.obstacle(connection, bounds.flatten).foreach(throw _)
          }
          bounds.contains(None)
        }
    if (isMissing && engine.startsQuery) engine.atStart(this)
  }

  private def checkNew(options: JdbcOptions, schema: StructType, connection: Option[Connection]): Unit = {
    val checks = new TableCheck(dialect, options, schema)
    if (options.createTable) checks.bindNew(connection).fold(throw _, identity) else throw checks.missing(connection)
  }

  /** The table; None: it is missing. */
  private def check(connection: Connection, database: Database, schema: StructType): Option[BoundTable] = {
    val options = database.options
    val checks = new TableCheck(dialect, options, schema)
    val bound = dialect.catalog.find(connection, options.table).map { table =>
      val candidate =
        checks.check(table, connection).fold(error => throw checks.refusal(connection, table)(error), identity)
      dialect.obstacle(connection, candidate, options).foreach(throw _)
      requireOther(connection, candidate)
      options.deadLetterTable.foreach(
        new DeadLetterTable(dialect, _).find(connection, Trust(table.name, options.trustedOwners)))
      candidate
    }
    if (bound.isEmpty) checkNew(options, schema, Some(connection))
    val keepsLedger = engine.startsQuery
    Privileges.refusal(database, connection, bound, keepsLedger).foreach { error =>
      // Privileges on a ledger that is not trusted would not help.
      val name = bound.fold(dialect.catalog.newName(connection, options.table))(_.table.name)
      if (keepsLedger)
        LedgerTable.of(database, name).isComplete(connection): Unit
      throw error
    }
    bound
  }

  /** Refuses the table that the changes come from: each write would be the next change. */
  private def requireOther(connection: Connection, bound: BoundTable): Unit =
    for (source <- ReplicaKey.table(bound.columns.map(_.field)); oid <- bound.table.target.oid) {
      val server = dialect.server(connection)
      if (source == s"${server.id}/${server.timeline.mkString}/${connection.getCatalog}/$oid")
        throw JdbcOptions.unsupported(
          s"write changes into ${bound.table.name}",
          "it is the table that they come from",
          "Give the replica another name, as replica_{table} for several tables, or write to another schema or database.")
    }

  private def checkTransport(): Unit = {
    val choice = options.transport
    if (choice != TransportChoice.Auto && choice != TransportChoice.Inline && database.bulk.isEmpty)
      throw JdbcOptions.unsupported(
        s"write with {option:transport=${choice.name}} to ${dialect.name}",
        "there only the driver writes",
        JdbcOptions.noTransport)
  }

  /** Includes reading, so that the refusal is ours: without it, Spark reports that the data source does not exist. */
  override def capabilities(): util.Set[TableCapability] = {
    val all = super.capabilities()
    all.add(TableCapability.BATCH_READ): Unit
    all.add(TableCapability.MICRO_BATCH_READ): Unit
    all
  }

  override def newScanBuilder(scanOptions: CaseInsensitiveStringMap): ScanBuilder =
    throw JdbcOptions.unsupported(
      "read",
      "it is a sink",
      JdbcProvider.otherRead(options.connection.url, options.table.toString, options.connection.driver))
}

private object JdbcTable {

  /** The tables of a query, each with the columns that it gets. */
  def bindings(database: Database, schema: StructType): Seq[(Database, StructType)] =
    QueryTables.of(schema, database.options).fold(throw _, identity) match {
      case None         => Seq(database -> schema)
      case Some(tables) => tables.all.map(table => database.of(table.options) -> table.schema)
    }
}

/** The table as a transactional sink: which writes it refuses, and how a run or a batch write gets its target. */
final private[jdbc] class JdbcSink(database: Database) extends TransactionalSink {
  private val options = database.options

  private var poolHold = Option.empty[AutoCloseable]

  override def format: String = JdbcOptions.Format
  override def place: String = database.place
  override val description: String = s"$format ${options.table} in $place"
  override val settings: SinkSettings = options.sink
  private val transport = options.transport
  override def usesFiles: Boolean = database.bulk.isEmpty

  override def refusesWhole: Option[EpochalException] = Option.when(options.opColumn.isDefined)(
    JdbcOptions.unsupported(
      "replace the whole table with {option:mode=changes}",
      "output mode complete, and a batch in overwrite mode, send all rows that the table is to hold",
      "Leave {option:opColumn} out, or use output mode append."))

  override def refuses(how: WriteKind): Option[EpochalException] =
    if (how.outputMode.contains(OutputMode.Update) && !options.upsert)
      Some(Conditions.KeyColumnsRequired("mode" -> "Output mode update"))
    else if (how.outputMode.isEmpty && options.tableColumn.nonEmpty)
      Some(
        JdbcOptions.unsupported(
          "write a batch with {option:tableColumn}",
          "several tables are written by streaming queries only",
          "Use writeStream with {trigger:availableNow}."))
    else if (transport != TransportChoice.Prepared) None
    else if (how.outputMode.isEmpty)
      Some(
        JdbcOptions.unsupported(
          "write a batch with {option:transport=prepared}",
          "a batch has no ledger row that could show which transactions were committed",
          "Leave {option:transport} out, or use writeStream with {trigger:availableNow}."))
    else
      Option.when(how.whole)(
        JdbcOptions.unsupported(
          "replace the table's rows with {option:transport=prepared}",
          "its transactions become visible one by one",
          JdbcOptions.noTransport))

  /** Rows become visible one by one, in order of arrival, which is correct for append only. */
  override def refusesEndless(how: WriteKind): Option[EpochalException] = {
    def cannot(what: String, reason: String, suggestion: String): Option[EpochalException] =
      Some(JdbcOptions.unsupported(s"$what under the ${how.trigger.name} trigger", reason, suggestion))
    val micro = "use {trigger:processingTime=1 second}."
    if (!database.dialect.abilities.flushes)
      MicroBatches.refused(s"${JdbcOptions.Format} into ${database.dialect.name}", how.trigger)
    else if (how.whole)
      cannot(
        "replace the table's rows",
        "its readers would see an empty table meanwhile",
        s"Output mode append, or $micro")
    else if (options.tableColumn.nonEmpty)
      cannot("write several tables", "they are stored together, at the end of an epoch", s"Write one table, or $micro")
    else if (options.upsert)
      cannot(
        "upsert or delete",
        "which of two rows of a key is kept would depend on when they are stored",
        s"Leave {option:keyColumns} and {option:opColumn} out, or $micro")
    else if (options.deadLetterTable.isDefined)
      cannot(
        "write a table of bad rows",
        "their number is checked at an epoch's end",
        s"Leave {option:deadLetterTable} out, or $micro")
    else if (transport == TransportChoice.Staged || transport == TransportChoice.Prepared)
      cannot(
        s"write with {option:transport=${transport.name}}",
        "tasks store rows themselves there, in transactions of their own",
        JdbcOptions.noTransport)
    else if (settings.onNewQuery.replaces)
      cannot(
        "write with {option:onNewQuery=replace}",
        "the first epoch's rows are visible before it ends",
        s"Leave {option:onNewQuery} out, or $micro")
    else
      settings.onLedgerEmpty match {
        case OnLedgerEmpty.Skip(epoch) =>
          cannot(
            s"skip epoch $epoch",
            "where an epoch ends is not known before it has ended",
            s"Set {option:onLedgerEmpty=write:$epoch} if its rows are not in the table, or $micro")
        case _ => None
      }
  }

  override def claim(run: Run, schema: StructType)(
      decide: LedgerState => Either[EpochalException, LedgerRow]): Claimed = {
    hold()
    new LedgerClaim(database, schema, run, decide).claim()
  }

  /** A table of `createTable` is there before the first rows are; not if the sink has had one, whose place it would take. */
  override def started(run: Run, schema: StructType): Unit =
    JdbcTable.bindings(database, schema).foreach { case (of, columns) =>
      of.outsidePool("making the table") { transaction =>
        val name = of.dialect.catalog.newName(transaction.connection, of.options.table)
        if (LedgerTable.of(of, name).row(transaction.connection, run.sinkId).isEmpty)
          TargetTables.make(of, columns, transaction)(_ => ())
      }
    }

  private def hold(): Unit = synchronized { if (poolHold.isEmpty) poolHold = Some(database.hold()) }

  override def ended(): Unit = synchronized {
    poolHold.foreach(_.close())
    poolHold = None
  }

  override def prepare(id: String, schema: StructType): SinkTarget = {
    // On a server, a batch's connection stays open for a minute: under foreachBatch the next batch reuses it.
    if (database.isFile) hold()
    try
      database.attempt("making the table ready") { transaction =>
        TargetTables.make(database, schema, transaction) { bound =>
          val run = BulkRun(id, 0L, "", bound, bound.shape, once = true)
          database.bulk.foreach(_.claim(transaction.connection, run))
          new JdbcTarget(database, run)
        }
      }
    catch {
      case error: EpochalException => throw Interference.ofClaim(database, schema, keepsLedger = false)(error)
    }
  }
}
