package io.epochal.jdbc.sqlite

import java.nio.file.{Files, Path, Paths}
import java.sql.{Connection, SQLException}
import java.time.Duration

import scala.util.Try

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.ServerIdentity
import io.epochal.core.retry.Verdict
import io.epochal.jdbc.database._
import io.epochal.jdbc.insert.RowBytes
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.kit.database.{ConnectionSettings, DriverRisks, QualifiedName, Sql}
import io.epochal.kit.sink.row.{EncodedRows, RowFormat}

/** SQLite: a file on the driver's local disk, which only the driver writes. */
class SqliteDialect extends Dialect with BuiltInDialect {

  private val Prefix = "jdbc:sqlite:"

  override val name = "SQLite"
  override def handles(url: String): Boolean = url.startsWith(Prefix)

  override def check(options: JdbcOptions): Either[EpochalException, Unit] = file(options.connection) match {
    case None =>
      Left(
        JdbcOptions.unsupported(
          "write to an in-memory database",
          "each connection has one of its own, which ends with the process",
          "Name a file, for example jdbc:sqlite:comments.db."))
    case Some(path) =>
      val directory = path.toAbsolutePath.normalize.getParent
      JdbcOptions.ensure(directory == null || Files.isDirectory(directory))(Conditions.DatabaseUnreachable(
        "url" -> options.connection.place,
        "reason" -> s"the directory $directory does not exist (a relative path starts at the driver's working directory)"))
  }

  /** The database, its write-ahead log and its index. SQLite puts these beside the file itself, not beside a link to it. */
  override def files(settings: ConnectionSettings): Seq[Path] = file(settings).toSeq.flatMap { path =>
    val itself = Try(path.toRealPath()).getOrElse(path)
    path +: Seq("-wal", "-shm").map(suffix => itself.resolveSibling(s"${itself.getFileName}$suffix"))
  }

  /** The database file; None: in memory. */
  private def file(settings: ConnectionSettings): Option[Path] = DriverRisks
    .sqliteFile(settings.url)
    .filterNot(name => name.startsWith(":") || settings.url.contains("mode=memory"))
    .map(Paths.get(_))

  override val abilities: Abilities =
    Abilities(deletes = true, addsColumns = true, maxConnections = 2, ignoresCase = true)
  override def catalog: Catalog = SqliteCatalog
  override def types: TypeRules = SqliteType
  override def errors: DriverErrors = SqliteErrors

  override def properties(settings: ConnectionSettings, lockTimeout: Duration): Map[String, String] =
    Map("journal_mode" -> "WAL", "synchronous" -> "FULL", "busy_timeout" -> lockTimeout.toMillis.toString)

  override val lastingProperties: Set[String] = Set("journal_mode")

  override def lockHolders(settings: ConnectionSettings): Seq[String] = FileLocks.holders(files(settings))

  override def rowFormat(table: BoundTable): RowFormat = RowBytes(table, SqliteRules)

  /** Takes the write lock of the database.
    *
    * As a statement of our own: with autocommit off, the driver would follow each COMMIT with the next BEGIN, and an idle connection
    * would block all other writers.
    */
  override def begin(connection: Connection, lockTimeout: Duration, writer: Option[Writer]): Option[String] = {
    Sql.run(connection, "BEGIN IMMEDIATE")
    // Rows of a table that refers to itself come in any order.
    Sql.run(connection, "PRAGMA defer_foreign_keys = ON")
    None
  }

  override def commit(connection: Connection): Unit = Sql.run(connection, "COMMIT")
  override def rollback(connection: Connection): Unit = Sql.run(connection, "ROLLBACK")

  override def server(connection: Connection): ServerIdentity = ServerIdentity("sqlite", None)

  override def load(connection: Connection, table: BoundTable, rows: EncodedRows, batchSize: Int): Loaded =
    SqliteLoad(connection, table, rows, batchSize)

  // BEGIN IMMEDIATE has locked the whole database.
  override object ledger extends LedgerDialect("TEXT", "INTEGER", "TEXT") {
    override val now = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
    override def serializeClaims(connection: Connection): Boolean = true
    override def table(name: QualifiedName): String = quote(name)

    override def same(left: String, right: String): String = s"$left IS $right"
  }
}

/** The shared instance: the dialect is stateless. */
object SqliteDialect extends SqliteDialect

/** Classifies SQLite's result codes: those for a file locked by another writer are transient. */
private object SqliteErrors extends DriverErrors {

  /** SQLITE_BUSY, SQLITE_LOCKED. */
  private val Occupied = Set(5, 6)

  override def isLocked(error: SQLException): Boolean = Occupied(error.getErrorCode & 0xff)

  /** SQLITE_FULL. */
  override def isFull(error: SQLException): Boolean = (error.getErrorCode & 0xff) == 13

  override def verdict(error: SQLException): Verdict =
    if (isLocked(error) || losesConnection(error)) Verdict.Retry else Verdict.GiveUp

  override def losesConnection(error: SQLException): Boolean = Sql.state(error).startsWith("08")
}
