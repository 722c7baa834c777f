package io.epochal.jdbc.database

import java.io.IOException
import java.nio.file.attribute.BasicFileAttributes
import java.nio.file.{Files, Path}
import java.sql.{Connection, SQLException, SQLTransientConnectionException}
import java.time.Duration
import java.util.concurrent.{Executors, ScheduledExecutorService, ScheduledFuture, TimeUnit}
import java.util.{Collections, WeakHashMap}

import scala.annotation.tailrec
import scala.collection.mutable
import scala.util.Using

import com.zaxxer.hikari.{HikariConfig, HikariDataSource}
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.thread.DaemonThreads
import io.epochal.jdbc.option.ConnectionSettings

/** This JVM's connections, kept across epochs: a small epoch costs no connect.
  *
  * There is one pool per database and login. It is closed after a minute without use; on the driver, as soon as the last query
  * that writes there has ended.
  */
private[jdbc] object ConnectionPool {

  final private case class Key(settings: ConnectionSettings, defaults: Map[String, String])

  final private class Pool(val source: HikariDataSource) {
    var users = 0
    var idleSince = System.nanoTime()
  }

  private val log = LoggerFactory.getLogger("io.epochal.jdbc.database.ConnectionPool")
  private val Idle = Duration.ofMinutes(1)
  private val pools = mutable.Map.empty[Key, Pool]
  private val holds = mutable.Map.empty[Key, Int]
  private var sweeping: Option[ScheduledFuture[_]] = None

  /** Lends a connection while `body` runs. A connection that was lost, or whose rollback failed, is not reused.
    *
    * @param patience
    *   how long to wait for a connection; None: indefinitely
    */
  def use[A](settings: ConnectionSettings, dialect: Dialect, lockTimeout: Duration, patience: Option[Duration] = None)(
      body: Connection => A): A =
    Using.resource(lend(settings, dialect, lockTimeout, patience)) { lease =>
      try body(lease.connection)
      catch {
        case error: Throwable =>
          if (error.getSuppressed.nonEmpty || sqlErrors(error).exists(dialect.errors.outlives) || lostItsFile(error))
            lease.abandon()
          throw error
      }
    }

  private def lostItsFile(error: Throwable): Boolean =
    EpochalException.in(error).exists(_.condition == Conditions.DatabaseFileReplaced)

  /** Registers a query or batch write as a user of the connections, until it closes the result. When the last user of a pool
    * closes, its connections are closed.
    *
    * @param fresh
    *   start with new connections: if the database is a file, an older connection may have a deleted file open
    */
  def hold(settings: ConnectionSettings, dialect: Dialect, lockTimeout: Duration, fresh: Boolean = false): Hold = {
    val key = Key(settings, dialect.properties(settings, lockTimeout))
    synchronized {
      holds(key) = holds.getOrElse(key, 0) + 1
      if (fresh) pools.get(key).foreach(endConnections)
    }
    new Hold(key)
  }

  final class Hold private[ConnectionPool] (key: Key) extends AutoCloseable {
    private var open = true

    override def close(): Unit = if (open) {
      open = false
      release(key)
    }
  }

  private def release(key: Key): Unit = {
    val unused = synchronized {
      val left = holds(key) - 1
      if (left > 0) holds(key) = left else holds -= key
      pools.get(key).filter(_ => left == 0).filter { pool =>
        if (pool.users > 0) endConnections(pool) else pools -= key
        pool.users == 0
      }
    }
    unused.foreach(_.source.close())
  }

  /** Evicts all connections; those that are lent, when they are returned. */
  private def endConnections(pool: Pool): Unit = pool.source.getHikariPoolMXBean.softEvictConnections()

  /** Lends a connection until the lease is closed. */
  def lend(
      settings: ConnectionSettings,
      dialect: Dialect,
      lockTimeout: Duration,
      patience: Option[Duration] = None): Lease = {
    val pool = enter(Key(settings, dialect.properties(settings, lockTimeout)), dialect)
    try new Lease(take(pool.source, System.nanoTime(), patience), pool)
    catch {
      case error: Throwable =>
        leave(pool)
        throw error
    }
  }

  /** Waits while this JVM uses all connections that it may have: tasks return theirs when they end. */
  @tailrec private def take(source: HikariDataSource, since: Long, patience: Option[Duration]): Connection =
    (try Some(source.getConnection)
    catch {
      case timeout: SQLTransientConnectionException if timeout.getCause == null && isFull(source) =>
        if (patience.exists(System.nanoTime() - since >= _.toNanos)) throw new AllBusy(source.getMaximumPoolSize)
        log.warn(
          "epochal-jdbc: all {} connections of this JVM are busy (maxConnections), waiting for one",
          source.getMaximumPoolSize)
        None
    }) match {
      case Some(connection) => connection
      case None             => take(source, since, patience)
    }

  /** No connection was returned in time. */
  final class AllBusy(connections: Int)
      extends SQLException(s"all $connections connections that this JVM may hold (maxConnections) stayed busy")

  private def isFull(source: HikariDataSource): Boolean =
    source.getHikariPoolMXBean.getActiveConnections >= source.getMaximumPoolSize

  final class Lease private[epochal] (val connection: Connection, pool: Pool) extends AutoCloseable {
    private var usable = true

    /** Prevents the connection from being reused. */
    def abandon(): Unit = usable = false

    override def close(): Unit =
      try if (usable) connection.close() else pool.source.evictConnection(connection)
      finally leave(pool)
  }

  /** Runs `body` on a connection outside the pool and outside any transaction: fails at once and changes no setting of the database. */
  def unpooled[A](settings: ConnectionSettings, dialect: Dialect)(body: Connection => A): A = {
    val connection = new LoginDataSource(settings, dialect.driver(settings.url), Map.empty).getConnection
    try body(connection)
    finally connection.close()
  }

  private def enter(key: Key, dialect: Dialect): Pool = synchronized {
    val pool = pools.getOrElseUpdate(key, new Pool(open(key, dialect)))
    pool.users += 1
    if (sweeping.isEmpty)
      sweeping =
        Some(sweeper.scheduleWithFixedDelay(() => sweep(Idle), Idle.toMillis, Idle.toMillis / 2, TimeUnit.MILLISECONDS))
    pool
  }

  private def leave(pool: Pool): Unit = synchronized {
    pool.users -= 1
    pool.idleSince = System.nanoTime()
  }

  /** Closes the pools that have been unused for the given time. */
  private[jdbc] def sweep(idle: Duration): Unit = synchronized {
    val now = System.nanoTime()
    pools.filterInPlace { (_, pool) =>
      val keep = pool.users > 0 || now - pool.idleSince < idle.toNanos
      if (!keep) pool.source.close()
      keep
    }
    if (pools.isEmpty) {
      sweeping.foreach(_.cancel(false))
      sweeping = None
    }
  }

  /** Number of connections of one login. */
  private[jdbc] def count(settings: ConnectionSettings): Int = synchronized(
    pools.keysIterator.count(_.settings == settings))

  /** Number of threads that wait for a connection of one login. */
  private[jdbc] def waiting(settings: ConnectionSettings): Int = synchronized(
    pools.iterator
      .filter { case (key, _) => key.settings == settings }
      .map(_._2.source.getHikariPoolMXBean.getThreadsAwaitingConnection)
      .sum)

  private def open(key: Key, dialect: Dialect): HikariDataSource = {
    val config = new HikariConfig
    config.setPoolName(s"epochal-${dialect.name}")
    val driver = dialect.driver(key.settings.url)
    config.setDataSource(new LoginDataSource(key.settings, driver, key.defaults, () => dialect.files(key.settings)))
    config.setMaximumPoolSize(key.settings.maxConnections.getOrElse(dialect.abilities.maxConnections))
    config.setMinimumIdle(0)
    config.setIdleTimeout(Idle.toMillis)
    config.setConnectionTimeout(ConnectionTimeout)
    config.setInitializationFailTimeout(-1)
    new HikariDataSource(config)
  }

  private lazy val sweeper: ScheduledExecutorService =
    Executors.newSingleThreadScheduledExecutor(new DaemonThreads("epochal-connections"))

  private val ConnectionTimeout = 15000L

  /** The SQLExceptions in a chain of causes, the outermost first. */
  def sqlErrors(error: Throwable): List[SQLException] =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null).take(20).collect { case e: SQLException => e }.toList
}

/** The files that one connection has open ([[Dialect.files]]).
  *
  * A file that is deleted or replaced stays open for those who have it open. So the file at the path is compared with the open
  * one by its number in the file system, which no other file gets while it is open. A file that is overwritten in place stays
  * the same one. On Windows files have no such number, and an open file cannot be deleted.
  */
final private class OpenFiles(settings: ConnectionSettings, files: Seq[Path]) {
  private val open = mutable.Map.empty[Path, AnyRef]

  /** Files that are created later are remembered from then on.
    *
    * @throws EpochalException
    *   DATABASE_FILE_REPLACED
    */
  def check(): Unit = synchronized {
    files.foreach { path =>
      val now = OpenFiles.key(path)
      open.get(path) match {
        case None         => now.foreach(open(path) = _)
        case Some(before) => if (!now.contains(before)) throw OpenFiles.changed(settings, path, files.head)
      }
    }
  }
}

private[jdbc] object OpenFiles {
  private val known = Collections.synchronizedMap(new WeakHashMap[Connection, OpenFiles])
  private val Attempts = 3

  /** Opens a connection and remembers its files: those found at its paths both before and after. */
  @tailrec def connect(settings: ConnectionSettings, files: () => Seq[Path], attempts: Int = Attempts)(
      open: => Connection): Connection = {
    val before = files().headOption.flatMap(key)
    val connection = open
    val now = files()
    if (now.headOption.flatMap(key) != before && attempts > 1) {
      connection.close()
      connect(settings, files, attempts - 1)(open)
    } else {
      if (now.nonEmpty) {
        val opened = new OpenFiles(settings, now)
        opened.check()
        known.put(connection, opened): Unit
      }
      connection
    }
  }

  /** @param connection
    *   one lent by the pool
    * @throws EpochalException
    *   DATABASE_FILE_REPLACED
    */
  def check(connection: Connection): Unit =
    if (!known.isEmpty) Option(known.get(connection.unwrap(classOf[Connection]))).foreach(_.check())

  /** The identity of a file while it is open; None: there is no file. */
  def key(path: Path): Option[AnyRef] =
    try Option(Files.readAttributes(path, classOf[BasicFileAttributes]).fileKey)
    catch { case _: IOException => None }

  def changed(settings: ConnectionSettings, path: Path, database: Path): EpochalException =
    Conditions.DatabaseFileReplaced(
      "url" -> settings.place,
      "file" -> path,
      "change" -> (if (Files.exists(path)) "replaced by another file" else "deleted or moved away"),
      "advice" -> (if (path == database) Another else Again))

  private val Another =
    "To start over, start the query with a new checkpoint (a batch: write it again). If the file was moved by mistake, put it back, with its -wal file, and start the query again."
  private val Again =
    "Start the query again: the ledger shows which epochs are in the database. Delete or move files of a database only while nothing writes to it."
}
