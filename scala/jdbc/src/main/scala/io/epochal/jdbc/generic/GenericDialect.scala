package io.epochal.jdbc.generic

import java.sql._
import java.time.format.DateTimeFormatter
import java.time.{Duration, Instant, ZoneOffset}
import java.util.{Locale, ServiceLoader}

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import org.apache.spark.sql.types.DataType

import io.epochal.core.error.EpochalException
import io.epochal.core.ledger.ServerIdentity
import io.epochal.core.retry.Verdict
import io.epochal.jdbc.database._
import io.epochal.jdbc.dialect.JdbcDialect
import io.epochal.jdbc.insert.{InsertBatches, RowBytes}
import io.epochal.jdbc.option.{JdbcOptions, QualifiedName}
import io.epochal.jdbc.table.DeadLetterTable
import io.epochal.kit.sink.row.{EncodedRows, RowFormat}

/** Any database whose driver is on the class path, by what JDBC and standard SQL promise. To be extended where a database
  * can do more.
  *
  * What it cannot do: replace rows by a key (no statement for it is common to databases: refused), tell a table from one of
  * the same name made anew, notice that a column changed its type while a run writes, and wait for a lock no longer than
  * `lockTimeout`. NaN, the infinities and texts of fixed length are refused, since databases differ in what becomes of them.
  */
class GenericDialect extends Dialect {

  override def name: String = "this database"
  override def handles(url: String): Boolean = url.startsWith("jdbc:")

  override def check(options: JdbcOptions): Either[EpochalException, Unit] =
    if (options.upsert) Left(upsert(options)) else DeadLetterTable.refused(options, name)

  private def upsert(options: JdbcOptions): EpochalException =
    JdbcOptions.unsupported(
      s"replace rows by {option:keyColumns} in ${options.connection.place}",
      "Epochal has no dialect for this database, and there is no upsert statement that all databases know",
      "Append, or write into PostgreSQL, MySQL, MariaDB or SQLite; a dialect of your own can do it (docs/databases.md).")

  override def quote(name: QualifiedName): String =
    if (name.schema.isEmpty) quote(name.table) else super.quote(name)
  override def abilities: Abilities = Abilities(ddlCommits = true)
  override def catalog: Catalog = GenericCatalog
  override def types: TypeRules = GenericType
  override def errors: DriverErrors = GenericErrors
  override def rowFormat(table: BoundTable): RowFormat =
    RowBytes(table, GenericRules)

  /** READ COMMITTED, or the next stricter that there is: what a transaction waited for must be seen by its next statement. */
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

  /** By INSERTs of many rows, whose count the database tells; where it does not know these, by the driver's batches. */
  override def load(connection: Connection, table: BoundTable, rows: EncodedRows, batchSize: Int): Loaded = {
    if (table.mode != WriteMode.Append)
      throw JdbcOptions.unsupported("replace rows", "the dialect of this database has no statement for it", "Append.")
    val target = quote(table.table.name)
    val inserts = new InsertBatches(GenericRules, quote, MaxParameters)
    var begun = false
    val stored =
      try inserts.multiRow(connection, target, table, rows, batchSize, () => begun = true)
      catch {
        case error: SQLException if !begun && isUnknown(error) =>
          inserts.batches(connection, target, table, rows, batchSize)
      }
    Loaded.Rows(stored, rows.rows)
  }

  /** What every database takes. */
  private def MaxParameters = 999

  /** Comes with the first statement. Later it has another reason (a statement too long), and rows are stored already. */
  private def isUnknown(error: SQLException): Boolean =
    error.isInstanceOf[SQLSyntaxErrorException] || error.isInstanceOf[SQLFeatureNotSupportedException] ||
      Option(error.getSQLState).exists(state => state.startsWith("42") || state.startsWith("0A"))

  override def ledger: LedgerDialect = GenericLedger
}

/** What JDBC and standard SQL say of errors. */
class GenericErrors extends DriverErrors {

  /** By SQLSTATE: connection, serialization and deadlock, resources, shutdown, a lock not to be had; and by the classes of
    * JDBC for what may pass.
    */
  override def verdict(error: SQLException): Verdict = {
    val state = Option(error.getSQLState).getOrElse("")
    val transient = error.isInstanceOf[SQLTransientException] || losesConnection(error) ||
      Seq("40", "53", "57P", "HYT").exists(state.startsWith) || state == "55P03"
    if (transient && state != "08004") Verdict.Retry else Verdict.GiveUp
  }

  override def losesConnection(error: SQLException): Boolean =
    error.isInstanceOf[SQLRecoverableException] || error.isInstanceOf[SQLNonTransientConnectionException] ||
      Option(error.getSQLState).exists(_.startsWith("08"))
}

object GenericErrors extends GenericErrors

/** The ledger in standard SQL. Its names stand without quotes, in the database's own case. */
private[generic] object GenericLedger extends LedgerDialect {
  override val text = "VARCHAR(255)"
  override val bigint = "BIGINT"
  override val timestamp = "TIMESTAMP"

  /** By this machine's clock: databases write their own time, but not in UTC, in too many ways. JDBC's escape is taken by
    * every driver.
    */
  override def now: String = s"{ts '${UtcTime.format(Instant.now())}'}"

  private val UtcTime = DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.SSSSSS", Locale.ROOT).withZone(ZoneOffset.UTC)

  // FOR UPDATE is not the same in all; an UPDATE locks its rows in each.
  override val forUpdate = ""
  override val locksByUpdate = true

  override def same(left: String, right: String): String =
    if (right == "NULL") s"$left IS NULL" else s"($left = $right OR ($left IS NULL AND $right IS NULL))"

  override def table(name: QualifiedName): String =
    if (name.schema.isEmpty) name.table else s"\"${name.schema.replace("\"", "\"\"")}\".${name.table}"

  override def column(name: String): String = s"\"${name.toUpperCase(Locale.ROOT)}\""
}

/** For every JDBC URL that no other dialect takes. */
final class AnyDialect extends GenericDialect with LastDialect

/** A dialect of another team over what JDBC promises of any database. */
final private[jdbc] class AuthoredDialect(val author: JdbcDialect) extends GenericDialect {

  override def name: String = author.name
  override def driver(url: String): Option[JdbcDriver] = author.driver(url).toScala.map(JdbcDriver(_))
  override def handles(url: String): Boolean = author.handles(url)
  override def quote(name: String): String = author.quote(name)
  override def abilities: Abilities = super.abilities.copy(maxConnections = author.maxConnections)

  override object types extends GenericTypes {
    override def declare(dataType: DataType): Option[String] =
      author.columnType(dataType).toScala.orElse(super.declare(dataType))
  }

  override object errors extends GenericErrors {
    override def verdict(error: SQLException): Verdict =
      if (author.isTransient(error)) Verdict.Retry else super.verdict(error)

    override def losesConnection(error: SQLException): Boolean =
      author.losesConnection(error) || super.losesConnection(error)
  }

  override def begin(connection: Connection, lockTimeout: Duration, writer: Option[Writer]): Option[String] = {
    val id = super.begin(connection, lockTimeout, writer)
    author.begin(connection, lockTimeout)
    id
  }
}

/** Those that a class loader sees. */
final class AuthoredDialects extends Dialects {
  override def found(loader: ClassLoader): Seq[Dialect] =
    ServiceLoader.load(classOf[JdbcDialect], loader).asScala.map(new AuthoredDialect(_)).toSeq
}
