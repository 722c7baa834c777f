package io.epochal.jdbc.database

import java.nio.file.{Files, Path}
import java.sql.{Connection, ResultSet, SQLException, SQLTransientConnectionException}
import java.time.Duration

import scala.annotation.unused
import scala.util.Try
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.hash.Sha256
import io.epochal.core.retry.{Retrier, RetryEvent, Verdict}
import io.epochal.jdbc.option.{JdbcOptions, TransportChoice}
import io.epochal.kit.database.Sql
import io.epochal.kit.sink.row.EncodedRows

/** One database as a query uses it: connections, the meaning of errors, and retries.
  *
  * @param onRetry
  *   called for each failure that is retried
  */
final class Database(val dialect: Dialect, val options: JdbcOptions, onRetry: () => Unit) {

  private val settings = options.connection
  private val retry = options.retry
  private val lockTimeout = options.lockTimeout
  private[jdbc] val pool = new ConnectionPool(settings, dialect, lockTimeout)
  private val log = LoggerFactory.getLogger(classOf[Database])

  private val files: Seq[Path] = dialect.files(settings)

  /** Whether the database is a file, which can be deleted or replaced by another. */
  val isFile: Boolean = files.nonEmpty

  /** Whether the database does not exist yet: the first connection creates its file. */
  def isNew: Boolean = files.headOption.exists(!Files.exists(_))

  /** The file that this query or batch write has begun to write. */
  @volatile private var file = Option.empty[AnyRef]

  /** The database, for messages: no secrets. */
  val place: String = settings.place

  /** Registers a query or batch write. It closes the result when it ends, and its connections with it. */
  def hold(): AutoCloseable = {
    file = None
    pool.hold(fresh = isFile)
  }

  /** Whether the size of an epoch decides how its rows travel. */
  val isAuto: Boolean = options.transport == TransportChoice.Auto

  /** How tasks bring rows to the database themselves, if they may. */
  val bulk: Option[BulkLoad] = options.transport match {
    case TransportChoice.Inline => None
    case TransportChoice.Auto   => dialect.bulk.find(_.name == TransportChoice.Staged.name)
    case named                  => dialect.bulk.find(_.name == named.name)
  }

  /** Runs `body` in a transaction that `body` commits; the whole is repeated after a transient failure.
    *
    * @param step
    *   completes "failed in …" in messages
    * @param writer
    *   the run whose transaction it is, for successors that wait for it
    */
  def inTransaction[A](step: String, writer: Option[Writer] = None)(body: Transaction => A): A =
    connected(step)(Transaction.run(_, dialect, lockTimeout, writer)(body))

  /** Runs `body`, which manages its own transactions, on a pooled connection; repeats it after a transient failure. */
  def connected[A](step: String)(body: Connection => A): A =
    retrying(step) {
      keepFile()
      val result = pool.use(Some(retry.deadline))(body)
      if (file.isEmpty) keepFile()
      result
    }

  /** Fails if the file was replaced: a connection opened in the middle of a query must not switch to another file. */
  private def keepFile(): Unit = files.headOption.foreach { path =>
    val now = OpenFiles.key(path)
    if (file.isEmpty) file = now else if (now != file) throw OpenFiles.changed(settings, path, path)
  }

  /** Lends a pooled connection to a task, which waits for one as long as other tasks load. */
  def lend(): ConnectionPool.Lease = pool.lend()

  /** Runs `body`, and repeats it after a transient failure. */
  def retrying[A](step: String, verdict: Throwable => Verdict = verdict)(body: => A): A =
    explaining(step)(new Retrier(retry, verdict, logRetry(step)).run(_ => body))

  /** Runs `body` once; a failure becomes one of our errors, without secrets. */
  def explaining[A](step: String)(body: => A): A =
    try body
    catch { case NonFatal(error) => throw explain(step, error) }

  /** Runs `body` on a connection outside the pool. It is retried only if the server exists but takes no connections yet: a wrong
    * host or password fails at once.
    */
  def inspect[A](body: Connection => A): A = {
    def opensLater(error: Throwable): Verdict =
      if (ConnectionPool.sqlErrors(error).exists(dialect.errors.opensLater)) Verdict.Retry else Verdict.GiveUp
    retrying("the checks before the start", opensLater)(
      pool.unpooled(connection => ConnectionWatch.briefly(dialect.inspecting(connection)(body(connection)))))
  }

  /** Runs `body` in a transaction that it commits, as [[inTransaction]], on a connection that no pool keeps. */
  def outsidePool[A](step: String)(body: Transaction => A): A =
    retrying(step)(pool.unpooled(Transaction.run(_, dialect, lockTimeout)(body)))

  private def verdict(error: Throwable): Verdict =
    if (error.isInstanceOf[EpochalException]) Verdict.GiveUp
    else
      ConnectionPool.sqlErrors(error) match {
        case Nil                                               => Verdict.GiveUp
        case (_: ConnectionPool.AllBusy) :: _                  => Verdict.GiveUp
        case (_: SQLTransientConnectionException) :: Nil       => Verdict.Retry
        case (_: SQLTransientConnectionException) :: said :: _ => dialect.errors.verdict(said)
        case said :: _                                         => dialect.errors.verdict(said)
      }

  /** Whether the failure of a COMMIT leaves its outcome unknown. */
  def losesConnection(error: Throwable): Boolean =
    ConnectionPool.sqlErrors(error).exists(dialect.errors.losesConnection)

  /** Whether the error is one that a repetition can outlast. */
  private[jdbc] def passes(error: Throwable): Boolean =
    losesConnection(error) || ConnectionPool.sqlErrors(error).exists(dialect.errors.verdict(_) == Verdict.Retry)

  /** Whether the database denied a statement. */
  private[jdbc] def denies(error: Throwable): Boolean =
    ConnectionPool.sqlErrors(error).exists(dialect.errors.denied)

  private def logRetry(step: String)(event: RetryEvent): Unit = {
    onRetry()
    log.warn(
      "epochal-jdbc: {} failed in {} (attempt {} of {}), the next one follows in {} ms: {}",
      place,
      step,
      Int.box(event.failures),
      Int.box(retry.maxAttempts),
      Long.box(event.delay.toMillis),
      settings.redact(event.cause.getMessage))
  }

  /** Our errors pass unchanged; the database's lose their secrets. */
  private def explain(step: String, error: Throwable): Throwable =
    EpochalException
      .in(error)
      .getOrElse(ConnectionPool.sqlErrors(error) match {
        case Nil    => error
        case errors => explain(step, errors)
      })

  private def explain(step: String, errors: Seq[SQLException]): EpochalException = {
    val said = errors.find(!_.isInstanceOf[SQLTransientConnectionException]).getOrElse(errors.head)
    val state = Option(said.getSQLState).getOrElse("")
    val reason = settings.redact(said.getMessage)
    val cause = settings.redact(said)
    def tooMany(advice: String): EpochalException = Conditions.TooManyConnections
      .because(cause)("url" -> place, "step" -> step, "advice" -> advice, "reason" -> reason)
    val tooLarge = errors.flatMap(dialect.errors.rowTooLarge).headOption
    val limit = errors.flatMap(dialect.errors.tooManyConnections).headOption
    if (errors.exists(_.isInstanceOf[ConnectionPool.AllBusy]))
      tooMany("Raise {option:maxConnections} as far as the server allows, or run fewer tasks at a time.")
    else if (tooLarge.isDefined)
      Conditions.RowTooLarge
        .because(cause)("url" -> place, "step" -> step, "setting" -> tooLarge.get, "reason" -> reason)
    else if (limit.isDefined)
      tooMany(s"Lower {option:maxConnections} (of each executor), raise ${limit.get} of the server, or use a pooler.")
    else if (errors.exists(dialect.errors.isLocked)) {
      val holders = dialect.lockHolders(settings)
      Conditions.DatabaseLocked.because(cause)(
        "url" -> place,
        "step" -> step,
        "holder" -> (if (holders.isEmpty) "another session" else holders.mkString(", ")),
        "reason" -> reason)
    } else if (errors.exists(dialect.errors.isFull))
      Conditions.DatabaseFull.because(cause)("url" -> place, "step" -> step, "reason" -> reason)
    else if (errors.exists(dialect.errors.refusesLogin))
      Conditions.LoginRefused.because(cause)("url" -> place, "reason" -> reason)
    else if (state.startsWith("08") || state == "3D000" || state == "57P03")
      Conditions.DatabaseUnreachable.because(cause)("url" -> place, "reason" -> reason)
    else
      Conditions.DatabaseError.because(cause)(
        "url" -> place,
        "step" -> step,
        "state" -> (if (state.isEmpty) s"none (code ${said.getErrorCode})" else state),
        "reason" -> reason)
  }
}

/** A transaction on a connection. It begins when it is first used. */
final private[jdbc] class Transaction private (
    raw: Connection,
    dialect: Dialect,
    lockTimeout: Duration,
    writer: Option[Writer]) {
  private var begun = false
  private var open = false
  private var assigned = Option.empty[String]
  private var prepared = Option.empty[PreparedLoad]

  /** The connection, in the open transaction. */
  def connection: Connection = {
    if (!begun) begin((dialect.begin(raw, lockTimeout, writer), Nil)): Unit
    prepared.foreach(_.undo(raw))
    prepared = None
    raw
  }

  /** By which the database can report its outcome later, if it can. */
  def id: Option[String] = assigned

  /** Runs a query: in an unused transaction together with its beginning.
    *
    * @param load
    *   to be prepared with it, if [[loadPrepared]] follows
    */
  def first[A](sql: Sql, load: Option[PreparedLoad])(read: ResultSet => A): Seq[A] =
    if (begun) sql.query(connection)(read)
    else {
      val rows = begin(dialect.begin(raw, lockTimeout, writer, sql, load)(read))
      prepared = load
      rows
    }

  /** Loads rows, if nothing but [[first]] has used the transaction. */
  def loadPrepared(rows: => EncodedRows): Option[Loaded] = prepared.map(_(raw, rows))

  private def begin[A](body: => (Option[String], Seq[A])): Seq[A] = {
    begun = true
    val (id, rows) = ConnectionWatch.briefly(body)
    open = true
    assigned = id
    ConnectionWatch.enter(dialect.sessions.flatMap(_.session(raw, id)))
    OpenFiles.check(raw)
    rows
  }

  /** Commits; nothing may follow. Fails if the file written to is not the database any more.
    *
    * @param last
    *   statements to run before
    */
  def commit(last: Seq[Sql] = Nil): Unit = {
    if (!begun) connection: Unit
    dialect.commit(raw, last)
    open = false
    ended()
    OpenFiles.check(raw)
  }

  private def close(): Unit = if (open) {
    dialect.rollback(raw)
    ended()
  }

  // The transaction is committed: a failure here must not make it look otherwise.
  private def ended(): Unit = writer.foreach(mine => Try(dialect.sessions.foreach(_.ended(raw, mine))))
}

private[jdbc] object Transaction {

  /** Runs `body`, and rolls back what it did not commit.
    *
    * @param writer
    *   the run whose transaction it is, for successors that wait for it
    */
  def run[A](connection: Connection, dialect: Dialect, lockTimeout: Duration, writer: Option[Writer] = None)(
      body: Transaction => A): A = ConnectionWatch.inSession(None) {
    val transaction = new Transaction(connection, dialect, lockTimeout, writer)
    val result =
      try body(transaction)
      catch {
        case error: Throwable => // Fatal errors too: the connection must not return to the pool with the transaction open.
          // On a lost connection there is nothing to roll back, and the first error is the cause.
          try transaction.close()
          catch { case NonFatal(second) => error.addSuppressed(second) }
          throw error
      }
    transaction.close()
    result
  }
}

/** Finds the sessions that block a claim, and ends those of its predecessors. */
trait Sessions {

  /** The session number of the open transaction. */
  def current(connection: Connection): Long

  /** The sessions that block a session, directly or indirectly, as far as this role may see them.
    *
    * @param connection
    *   a different one
    * @param successor
    *   the sink's newest generation: sessions of generations that it supersedes may be ended
    */
  def blockers(connection: Connection, waiting: Long, successor: Writer): Seq[Blocker]

  /** Ends a session, provided that it is still in the same transaction. */
  def end(connection: Connection, blocker: Blocker): Unit

  /** A key by which another session can look at a transaction.
    *
    * @param id
    *   the transaction's, as [[Dialect.begin]] returned it
    */
  def session(connection: Connection, id: Option[String]): Option[String]

  /** Of these keys, those whose sessions execute a statement, or have done so within the given milliseconds. A session that waits
    * for its client to send something, or to read something, executes none.
    *
    * @param connection
    *   a different one, in autocommit mode
    */
  def busy(connection: Connection, keys: Seq[String], milliseconds: Long): Set[String]

  /** Ends a session of ours whose client is lost, unless its transaction has ended. */
  def endSession(connection: Connection, key: String): Unit

  /** Closes the socket of a connection, while its thread waits there. */
  def abort(connection: Connection): Unit = connection.abort(_.run())

  /** Called on the connection after a writer's transaction has ended. */
  def ended(@unused connection: Connection, @unused writer: Writer): Unit = ()
}

/** The run that owns a transaction, as shown to other sessions of the database.
  *
  * @param sink
  *   16 hexadecimal digits, a hash of the ledger's schema and the sink id
  */
final case class Writer(sink: String, generation: Long) {

  /** Whether a claim by this run makes `other` an older generation, so that it may be ended. */
  def supersedes(other: Writer): Boolean = sink == other.sink && other.generation <= generation
}

object Writer {
  def of(schema: String, sinkId: String, generation: Long): Writer =
    Writer(Sha256.hex(s"$schema\n$sinkId", 8), generation)
}

/** A session that blocks another one.
  *
  * @param process
  *   its number for the server's kill command; None: it has no process (a prepared transaction)
  * @param description
  *   for people: its owner, the age of its transaction, its current statement
  * @param key
  *   what must still hold when it is ended
  * @param writer
  *   the run that it provably belongs to, if it may be ended: our role, our database, not waiting for a replica
  */
final case class Blocker(process: Option[Long], description: String, key: String, writer: Option[Writer])
