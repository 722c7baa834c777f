package io.epochal.jdbc.generic

import java.sql._
import java.time.format.DateTimeFormatter
import java.time.{Duration, Instant, ZoneOffset}
import java.util.Locale

import io.epochal.core.error.EpochalException
import io.epochal.core.ledger.ServerIdentity
import io.epochal.jdbc.database._
import io.epochal.jdbc.insert.{InsertBatches, RowBytes}
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.kit.database.QualifiedName
import io.epochal.kit.sink.row.{EncodedRows, RowFormat}

/** Any database whose driver is on the class path, by what JDBC and standard SQL guarantee. Extend it for databases that can
  * do more.
  *
  * It cannot replace rows by a key (no statement for that is common to databases, so it is refused), distinguish a table from a
  * recreated one of the same name, notice that a column's type changes while a run writes, or limit a wait for a lock to
  * `lockTimeout`. It refuses NaN, infinities and fixed-length texts, since databases differ in how they store them.
  */
class GenericDialect extends Dialect {

  override def name: String = "this database"
  override def handles(url: String): Boolean = url.startsWith("jdbc:")

  override def check(options: JdbcOptions): Either[EpochalException, Unit] =
    if (options.upsert) Left(upsert(options)) else JdbcOptions.ensure(options.deadLetterTable.isEmpty)(deadLetters)

  private def deadLetters: EpochalException =
    JdbcOptions.unsupported(
      s"set bad rows aside in $name",
      "Epochal has no table of bad rows for this database",
      "Leave {option:deadLetterTable} out, or filter the rows in the query.")

  private def upsert(options: JdbcOptions): EpochalException =
    JdbcOptions.unsupported(
      s"replace rows by {option:keyColumns} in ${options.connection.place}",
      "Epochal has no dialect for this database, and there is no upsert statement that all databases know",
      "Append, or write into PostgreSQL, MySQL, MariaDB or SQLite; a JdbcDialect of your own can do it.")

  override def quote(name: QualifiedName): String =
    if (name.schema.isEmpty) quote(name.table) else super.quote(name)
  override def abilities: Abilities = Abilities(ddlCommits = true)
  override def catalog: Catalog = GenericCatalog
  override def types: TypeRules = GenericType
  override def errors: DriverErrors = GenericErrors
  override def rowFormat(table: BoundTable): RowFormat = RowBytes(table, GenericRules)

  /** READ COMMITTED, or the next stricter level: after a wait for a transaction, the next statement must see its changes. */
  override def begin(connection: Connection, lockTimeout: Duration, writer: Option[Writer]): Option[String] = {
    connection.setAutoCommit(false)
    val metadata = connection.getMetaData
    Seq(
      Connection.TRANSACTION_READ_COMMITTED,
      Connection.TRANSACTION_REPEATABLE_READ,
      Connection.TRANSACTION_SERIALIZABLE)
      .find(metadata.supportsTransactionIsolationLevel)
      .foreach(connection.setTransactionIsolation)
    None
  }

  override def server(connection: Connection): ServerIdentity =
    ServerIdentity(connection.getMetaData.getDatabaseProductName, None)

  /** Multi-row INSERTs, for which the database counts the rows; or the driver's batches, if the database does not know these. */
  override def load(connection: Connection, table: BoundTable, rows: EncodedRows, batchSize: Int): Loaded = {
    if (table.mode != WriteMode.Append)
      throw JdbcOptions.unsupported("replace rows", "the dialect of this database has no statement for it", "Append.")
    val target = quote(table.table.name)
    val inserts = new InsertBatches(GenericRules, quote, MaxParameters)
    var begun = false
    val storedRows =
      try inserts.multiRow(connection, target, table, rows, batchSize, () => begun = true)
      catch {
        case error: SQLException if !begun && isUnknown(error) =>
          inserts.batches(connection, target, table, rows, batchSize)
      }
    Loaded.Rows(storedRows, rows.rows)
  }

  /** A limit that every database accepts. */
  private def MaxParameters = 999

  /** Consulted for the first statement only: a later error has another cause (a statement too long), and rows are stored already. */
  private def isUnknown(error: SQLException): Boolean =
    error.isInstanceOf[SQLSyntaxErrorException] || error.isInstanceOf[SQLFeatureNotSupportedException] ||
      Option(error.getSQLState).exists(state => state.startsWith("42") || state.startsWith("0A"))

  override def ledger: LedgerDialect = GenericLedger
}

/** The ledger in standard SQL. Its names are unquoted, in the database's own case. The syntax of FOR UPDATE differs between
  * databases; an UPDATE locks its rows in all of them.
  */
private[generic] object GenericLedger
    extends LedgerDialect("VARCHAR(255)", "BIGINT", "TIMESTAMP", locksByUpdate = true) {

  /** This machine's time: databases have clocks of their own, but no common expression for UTC. Every driver accepts the JDBC
    * escape.
    */
  override def now: String = s"{ts '${UtcTime.format(Instant.now())}'}"

  private val UtcTime = DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.SSSSSS", Locale.ROOT).withZone(ZoneOffset.UTC)

  override def same(left: String, right: String): String =
    if (right == "NULL") s"$left IS NULL" else s"($left = $right OR ($left IS NULL AND $right IS NULL))"

  override def table(name: QualifiedName): String =
    if (name.schema.isEmpty) name.table else s"\"${name.schema.replace("\"", "\"\"")}\".${name.table}"

  override def column(name: String): String = s"\"${name.toUpperCase(Locale.ROOT)}\""
}
