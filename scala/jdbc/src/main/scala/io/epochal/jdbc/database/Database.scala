package io.epochal.jdbc.database

import java.nio.file.{Files, Path}
import java.sql.Connection

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.epochal.core.error.EpochalException
import io.epochal.core.retry.{Retrier, RetryEvent, Verdict}
import io.epochal.jdbc.option.{JdbcOptions, TransportChoice}
import io.epochal.kit.sink.CommitDoubt

/** One database as a query uses it: connections, transactions, and retries.
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

  val errors = new DatabaseErrors(dialect, settings)

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
    case _ if options.tableColumn.nonEmpty => None
    case TransportChoice.Inline            => None
    case TransportChoice.Auto              => dialect.bulk.find(_.name == TransportChoice.Staged.name)
    case choice                            => dialect.bulk.find(_.name == choice.name)
  }

  /** The same database, for one of several tables. */
  def of(table: JdbcOptions): Database = new Database(dialect, table, onRetry)

  /** Runs `body` in a transaction that `body` commits; after a transient failure all of it again, in a new one. A COMMIT whose
    * response was lost is not repeated if `body` resolves the transaction's [[CommitDoubt]].
    *
    * @param step
    *   completes "failed in …" in messages
    * @param writer
    *   the run whose transaction it is, for successors that wait for it
    * @param diagnose
    *   replaces the error of a failed statement by one that names what others did
    * @throws EpochalException
    *   COMMIT_UNKNOWN
    */
  def attempt[A](step: String, writer: Option[Writer] = None, diagnose: DatabaseErrors.Diagnosis = identity)(
      body: Transaction => A): A = {
    val doubt = new CommitDoubt(errors.losesConnection)
    try
      retrying(step, diagnose = error => diagnose(doubt.explained(place, error)))(onPooled(connection =>
        doubt.attempt(Transaction.run(connection, dialect, lockTimeout, writer, doubt)(body))))
    catch { case NonFatal(error) if EpochalException.in(error).isEmpty => throw doubt.explained(place, error) }
  }

  /** Runs `body`, which manages its own transactions, on a pooled connection; repeats it after a transient failure. */
  def onConnection[A](step: String)(body: Connection => A): A = retrying(step)(onPooled(body))

  private def onPooled[A](body: Connection => A): A = {
    keepFile()
    val result = pool.use(Some(retry.deadline))(body)
    if (file.isEmpty) keepFile()
    result
  }

  /** Fails if the file was replaced: a connection opened in the middle of a query must not switch to another file. */
  private def keepFile(): Unit = files.headOption.foreach { path =>
    val now = OpenFiles.key(path)
    if (file.isEmpty) file = now else if (now != file) throw OpenFiles.changeError(settings, path, path)
  }

  /** Lends a pooled connection to a task, which waits for one as long as other tasks load. */
  def lend(): ConnectionPool.Lease = pool.lend()

  /** Runs `body`, and repeats it after a transient failure. */
  def retrying[A](
      step: String,
      verdict: Throwable => Verdict = errors.verdict,
      diagnose: DatabaseErrors.Diagnosis = identity)(body: => A): A =
    explaining(step, diagnose)(new Retrier(retry, verdict, logRetry(step)).run(_ => body))

  /** Runs `body` once; a failure becomes one of our errors, without secrets. */
  def explaining[A](step: String, diagnose: DatabaseErrors.Diagnosis = identity)(body: => A): A =
    try body
    catch { case NonFatal(error) => throw errors.explain(step, error, diagnose) }

  /** Runs `body` on a connection outside the pool. It is retried only if the server exists but takes no connections yet: a wrong
    * host or password fails at once.
    */
  def inspect[A](body: Connection => A): A = {
    def opensLater(error: Throwable): Verdict =
      if (ConnectionPool.sqlErrors(error).exists(dialect.errors.opensLater)) Verdict.Retry else Verdict.GiveUp
    retrying("the checks before the start", opensLater)(
      pool.outside(connection => ConnectionWatch.briefly(dialect.inspecting(connection)(body(connection)))))
  }

  /** Runs `body` in a transaction that it commits, as [[attempt]], on a connection that no pool keeps. */
  def outsidePool[A](step: String)(body: Transaction => A): A =
    retrying(step)(pool.outside(Transaction.run(_, dialect, lockTimeout)(body)))

  private def logRetry(step: String)(event: RetryEvent): Unit = {
    onRetry()
    log.warn(
      s"epochal-jdbc: $place failed in $step (attempt ${event.failures} of ${retry.maxAttempts}), " +
        s"the next one follows in ${event.delay.toMillis} ms: ${settings.redact(event.cause.getMessage)}")
  }
}
