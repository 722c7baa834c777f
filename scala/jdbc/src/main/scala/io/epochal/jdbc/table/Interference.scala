package io.epochal.jdbc.table

import java.sql.Connection
import java.time.Duration

import scala.util.Try

import org.apache.spark.sql.types.{ArrayType, StringType, StructField, StructType}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.jdbc.database.{BulkRun, Database, FeedColumns, Transaction, WriteNeeds}
import io.epochal.kit.database.{NamePart, QualifiedName, TableName}

/** Explains a failed statement of a run by what others have changed in the database since the run began: the target or a table of
  * the sink's own was dropped, a column dropped or altered, a privilege revoked.
  */
private[jdbc] object Interference {

  /** The error to report for that of a statement that failed for good. Looks only if its reason has no condition of its own, or if
    * it waited too long. Where the database denied the statement, only privileges are asked for: without them, a table that exists
    * can be invisible.
    *
    * @param keptTables
    *   tables beside the target that the statements use, apart from the ledger's
    */
  def diagnose(database: Database, run: BulkRun, keptTables: Seq[String])(error: EpochalException): EpochalException = {
    val isPassing = database.errors.passes(error)
    val reason = error.condition match {
      case Conditions.DatabaseError if !isPassing && database.errors.denies(error) =>
        lookUp(database)(Privileges.refusal(database, _, Some(run.table), !run.once, denied = true))
      case Conditions.DatabaseError if !isPassing => lookUp(database)(difference(database, run, keptTables, _))
      case Conditions.DatabaseLocked if database.dialect.bulk.nonEmpty =>
        lookUp(database)(preparedHolders(database, run, error, _))
      case _ => None
    }
    reason.fold(error)(withCause(_, error))
  }

  /** Whether transactions that tasks have prepared hold locks on the target. */
  private def preparedHolders(
      database: Database,
      run: BulkRun,
      error: EpochalException,
      connection: Connection): Option[EpochalException] =
    Some(database.dialect.bulk.flatMap(_.holding(connection, run))).filter(_.nonEmpty).map { ids =>
      Prepared(
        (error.values + ("holder" -> s"transactions that tasks have prepared (${ids.mkString(", ")})")).toSeq: _*)
    }

  /** Explains the failure of a claim, or of the beginning of a batch write, by privileges that it lacks. */
  def ofClaim(database: Database, schema: StructType, keepsLedger: Boolean)(error: EpochalException): EpochalException =
    if (error.condition != Conditions.DatabaseError || !database.errors.denies(error)) error
    else
      lookUp(database) { connection =>
        val check = new TableCheck(database.dialect, database.options, schema)
        val table = database.dialect.catalog.find(connection, database.options.table)
        val bound = table.map(check.check(_, connection).fold(throw _, identity))
        Privileges.refusal(database, connection, bound, keepsLedger, denied = true)
      }.fold(error)(withCause(_, error))

  /** On another connection: that of the failed statement may be unusable. */
  private def lookUp(database: Database)(body: Connection => Option[EpochalException]): Option[EpochalException] =
    Try(database.pool.use(Some(Patience))(connection =>
      Transaction.run(connection, database.dialect, Patience)(transaction =>
        body(transaction.connection)))).toOption.flatten

  private def withCause(reason: EpochalException, error: EpochalException): EpochalException =
    reason.condition.because(error)(reason.values.toSeq: _*)

  private def difference(
      database: Database,
      run: BulkRun,
      keptTables: Seq[String],
      connection: Connection): Option[EpochalException] = {
    val dialect = database.dialect
    val bound = run.table
    val name = bound.table.name
    val check = new TableCheck(dialect, database.options, schema(database, run))
    def isGone(table: QualifiedName): Boolean = !dialect.catalog.exists(connection, table)
    def own(table: String): QualifiedName = name.copy(table = table)
    def beside: Option[EpochalException] = {
      val ledger = if (run.once) Nil else WriteNeeds.LedgerTables
      ((ledger ++ keptTables).map(own) ++ bound.deadLetters).find(isGone).map {
        case missing if missing == own(WriteNeeds.LedgerTables.head) => Lost("url" -> database.place)
        case missing =>
          Conditions.RunFailed(
            "sinkId" -> run.sinkId,
            "reason" -> s"its table $missing was dropped, which the next start creates again.")
      }
    }
    dialect.catalog.find(connection, exactly(name)) match {
      case None => Some(check.missing(Some(connection)))
      case Some(table) =>
        val isOther = bound.table.target.oid.exists(oid => !table.target.oid.contains(oid)) ||
          bound.alterations.isEmpty && dialect.catalog.shape(connection, bound) != run.shape
        check.check(table, connection) match {
          case Left(refusal) => Some(refusal)
          case Right(_)      => Option.when(isOther)(replaced(run)).orElse(beside)
        }
    }
  }

  private def exactly(name: QualifiedName): TableName = TableName(
    Option.when(name.schema.nonEmpty)(NamePart(name.schema, quoted = true)),
    NamePart(name.table, quoted = true))

  /** The query's columns, as far as a task knows them: those that it stores. */
  private def schema(database: Database, run: BulkRun): StructType = {
    val storedFields = run.table.columns.map(column => column.ordinal -> column.field)
    val operation = run.table.operation.toSeq.flatMap { column =>
      val name = database.options.opColumn.getOrElse(FeedColumns.ChangeType)
      val feed = column.feed.toSeq.flatMap { columns =>
        (columns.version -> StructField(FeedColumns.Version, StringType)) +:
          columns.unchanged.map(_ -> StructField(FeedColumns.Unchanged, ArrayType(StringType))).toSeq
      }
      (column.ordinal -> StructField(name, StringType)) +: feed
    }
    StructType((storedFields ++ operation).sortBy(_._1).map(_._2))
  }

  /** Refusal: the table was replaced or altered since the rows were encoded. */
  def replaced(run: BulkRun): EpochalException = {
    val target = run.table.table.target
    Conditions.TargetChanged(
      "sinkId" -> run.sinkId,
      "known" -> target,
      "accept" -> target.id,
      "table" -> "a table of that name that was recreated, got a foreign partition or a rule, or has columns of other types"
    )
  }

  private val Lost = Conditions.LedgerNotFound.withHint(
    "It was dropped while the query ran. Start the query again: that creates an empty ledger, and the error then says how to continue. " +
      "If you have a backup, restore ledger and rows from one.")

  private val Prepared = Conditions.DatabaseLocked.withHint(
    "Start the query of these transactions again: its start ends what died, and a longer {option:lockTimeout} does not. " +
      "If it fails in the same way, two partitions of an epoch have rows of one key, and no append stores both.")

  private val Patience = Duration.ofSeconds(2)
}
