package io.epochal.jdbc.database

import java.sql.{Connection, SQLException, SQLTransientConnectionException}
import java.time.Duration
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.{Executors, TimeUnit}

import scala.collection.mutable
import scala.util.Using

import com.zaxxer.hikari.{HikariConfig, HikariDataSource}
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.database.{ConnectionSettings, LoginDataSource}

/** The connections of this JVM with one login, pooled across epochs, so that a small epoch need not open one.
  *
  * Objects with the same settings and default driver properties share a pool, with at most `maxConnections` connections. A pool
  * is closed after a minute without use, and on the driver as soon as the last [[hold]] on it is closed. Any
  * thread may call any method.
  */
final private[jdbc] class ConnectionPool(settings: ConnectionSettings, dialect: Dialect, lockTimeout: Duration) {
  import ConnectionPool._

  private val key = Key(settings, dialect.properties(settings, lockTimeout))

  /** Lends a connection while `body` runs. After an error that makes the connection unfit for reuse, or a failed
    * rollback, it is closed instead of returned.
    *
    * @param patience
    *   as in [[lend]]
    */
  def use[A](patience: Option[Duration] = None)(body: Connection => A): A =
    Using.resource(lend(patience)) { lease =>
      try body(lease.connection)
      catch {
        case error: Throwable =>
          // A suppressed error is that of the rollback.
          val lostItsFile = EpochalException.in(error).exists(_.condition == Conditions.DatabaseFileReplaced)
          if (error.getSuppressed.nonEmpty || sqlErrors(error).exists(dialect.errors.outlives) || lostItsFile)
            lease.abandon()
          throw error
      }
    }

  /** Registers a query or batch write as a user of the pool until it closes the hold. Closing the last hold closes the
    * pool's connections.
    *
    * @param fresh
    *   whether existing connections are not reused: if the database is a file, they may have a deleted file open
    */
  def hold(fresh: Boolean = false): AutoCloseable = {
    ConnectionPool.synchronized {
      holds(key) = holds.getOrElse(key, 0) + 1
      if (fresh) pools.get(key).foreach(endConnections)
    }
    val isOpen = new AtomicBoolean(true)
    () => if (isOpen.getAndSet(false)) release(key)
  }

  /** Lends a connection until the lease is closed.
    *
    * @param patience
    *   how long to wait while all connections are lent, rounded up to a multiple of `ConnectionTimeout`; None: until
    *   one is returned
    * @throws java.sql.SQLException
    *   [[AllBusy]] after `patience`; otherwise the error of a connection that could not be opened
    */
  def lend(patience: Option[Duration] = None): Lease = {
    val pool = enter(key, dialect)
    try new Lease(acquire(pool.source, patience), dialect, pool, server)
    catch {
      case error: Throwable =>
        leave(pool)
        throw error
    }
  }

  /** Runs `body` on a new connection outside the pool, in autocommit mode. Does not wait for a free connection, and
    * sets no driver property that changes the database itself (SQLite's `journal_mode`).
    */
  def outside[A](body: Connection => A): A = {
    val properties = key.defaults -- dialect.lastingProperties
    Using.resource(login(properties)) { connection =>
      Using.resource(watchOf(connection, server))(_ => body(connection))
    }
  }

  private def login(properties: Map[String, String]): Connection =
    new LoginDataSource(settings, dialect.driver(settings.url), properties).getConnection

  /** None if the database does not show what its sessions do. */
  private val server: Option[WatchedServer] = dialect.sessions.map(
    new WatchedServer(
      settings.place,
      _,
      () => login(key.defaults -- dialect.lastingProperties),
      dialect.errors.losesConnection))
}

private[jdbc] object ConnectionPool {

  /** Identifies a pool.
    *
    * @param defaults
    *   driver properties that the dialect sets unless the user does ([[Dialect.properties]])
    */
  final private case class Key(settings: ConnectionSettings, defaults: Map[String, String]) {
    override val hashCode: Int = (settings, defaults).##
  }

  /** A pool, the number of open leases, and the time at which the last one was closed. */
  final private class Pool(val source: HikariDataSource) {
    var users = 0
    var idleSince = System.nanoTime()
  }

  private val log = LoggerFactory.getLogger("io.epochal.jdbc.database.ConnectionPool")
  private val Idle = Duration.ofMinutes(1)
  private val pools = mutable.Map.empty[Key, Pool]
  // The number of open holds.
  private val holds = mutable.Map.empty[Key, Int]

  private def release(key: Key): Unit = {
    val idlePool = synchronized {
      val left = holds(key) - 1
      if (left > 0) holds(key) = left else holds -= key
      pools.get(key).filter(_ => left == 0).filter { pool =>
        if (pool.users > 0) endConnections(pool) else pools -= key
        pool.users == 0
      }
    }
    idlePool.foreach(_.source.close())
  }

  /** Closes the idle connections of a pool now, and each lent one when it is returned. */
  private def endConnections(pool: Pool): Unit = pool.source.getHikariPoolMXBean.softEvictConnections()

  /** Takes a connection from a pool, and waits while all of them are lent: tasks return theirs when they end. */
  private def acquire(source: HikariDataSource, patience: Option[Duration]): Connection = {
    val since = System.nanoTime()
    var turn = since + ConnectionTimeout.toNanos
    def attempt(): Option[Connection] =
      try Some(source.getConnection)
      catch {
        case timeout: SQLTransientConnectionException if cannotRun(timeout).nonEmpty => throw cannotRun(timeout).get
        case _: SQLTransientConnectionException if System.nanoTime() < turn          => None
        // With a cause, the database refused a connection; without one, none was returned to the pool in time, though one
        // may have been since.
        case timeout: SQLTransientConnectionException if timeout.getCause == null && isComplete(source) =>
          turn = System.nanoTime() + ConnectionTimeout.toNanos
          if (patience.exists(System.nanoTime() - since >= _.toNanos)) throw new AllBusy(source.getMaximumPoolSize)
          val all = s"${source.getMaximumPoolSize} connections of this JVM (maxConnections, in Python max_connections)"
          log.warn(s"epochal-jdbc: all $all are busy, waiting for one")
          None
      }
    Iterator.continually(attempt()).flatten.next()
  }

  /** The failure of a driver that cannot open any connection. */
  private def cannotRun(timeout: SQLException): Option[EpochalException] =
    EpochalException.in(timeout).filter(_.condition == Conditions.DriverUnusable)

  /** All connections of a pool stayed lent for as long as the caller was willing to wait. */
  final class AllBusy(limit: Int) extends SQLException(s"all $limit connections that this JVM may hold stayed busy")

  /** Whether all connections that a pool may have are open, lent or not: then no caller waits for a new one. */
  private def isComplete(source: HikariDataSource): Boolean =
    source.getHikariPoolMXBean.getTotalConnections >= source.getMaximumPoolSize

  /** A lent connection. Closing the lease returns it to the pool, or closes it after `abandon`. */
  final class Lease private[database] (
      val connection: Connection,
      dialect: Dialect,
      pool: Pool,
      server: Option[WatchedServer])
      extends AutoCloseable {
    private var usable = true
    private val watch = watchOf(connection, server)

    /** Opens a transaction that the lease's end ends at the latest, and returns its id. */
    def begin(lockTimeout: Duration, writer: Writer): Option[String] = {
      val id = ConnectionWatch.briefly(dialect.begin(connection, lockTimeout, Some(writer)))
      ConnectionWatch.enter(dialect.sessions.flatMap(_.session(connection, id)))
      id
    }

    /** Prevents the connection from being reused. */
    def abandon(): Unit = usable = false

    override def close(): Unit =
      try if (usable) connection.close() else pool.source.evictConnection(connection)
      finally {
        watch.close()
        leave(pool)
      }
  }

  private def watchOf(connection: Connection, server: Option[WatchedServer]): AutoCloseable =
    server.fold[AutoCloseable](() => ())(new ConnectionWatch(connection, _))

  private def enter(key: Key, dialect: Dialect): Pool = synchronized {
    val pool = pools.getOrElseUpdate(key, new Pool(open(key, dialect)))
    pool.users += 1
    sweeping
    pool
  }

  private def leave(pool: Pool): Unit = synchronized {
    pool.users -= 1
    pool.idleSince = System.nanoTime()
  }

  /** Closes the pools without a lease for the given time. */
  private[jdbc] def sweep(idle: Duration): Unit = synchronized {
    val now = System.nanoTime()
    pools.filterInPlace { (_, pool) =>
      val keep = pool.users > 0 || now - pool.idleSince < idle.toNanos
      if (!keep) pool.source.close()
      keep
    }: Unit
  }

  /** Number of pools with these settings, for tests. */
  private[jdbc] def count(settings: ConnectionSettings): Int = synchronized(
    pools.keysIterator.count(_.settings == settings))

  /** Number of threads that wait for a connection with these settings, for tests. */
  private[jdbc] def waiting(settings: ConnectionSettings): Int = synchronized(
    pools.iterator
      .filter { case (key, _) => key.settings == settings }
      .map(_._2.source.getHikariPoolMXBean.getThreadsAwaitingConnection)
      .sum)

  private def open(key: Key, dialect: Dialect): HikariDataSource = {
    val config = new HikariConfig
    config.setPoolName(s"epochal-${dialect.name}")
    val driver = dialect.driver(key.settings.url)
    config.setDataSource(new LoginDataSource(key.settings, driver, key.defaults) {
      override def getConnection: Connection =
        OpenFiles.connect(key.settings, () => dialect.files(key.settings))(super.getConnection)
    })
    config.setMaximumPoolSize(key.settings.maxConnections.getOrElse(dialect.abilities.maxConnections))
    config.setMinimumIdle(0)
    config.setIdleTimeout(Idle.toMillis)
    config.setConnectionTimeout(Pause.toMillis)
    // Creating the pool opens no connection: the first caller does, and gets the error.
    config.setInitializationFailTimeout(-1)
    new HikariDataSource(config)
  }

  private lazy val sweeping: Unit =
    Executors
      .newSingleThreadScheduledExecutor(new DaemonThreads("epochal-connections"))
      .scheduleWithFixedDelay(() => sweep(Idle), Idle.toMillis, Idle.toMillis / 2, TimeUnit.MILLISECONDS): Unit

  /** How long [[acquire]] waits for a connection that cannot be opened, and before it logs that all connections are busy. */
  private val ConnectionTimeout = Duration.ofSeconds(15)

  /** How long Hikari waits: as soon as it returns, [[acquire]] sees that the driver cannot run. */
  private val Pause = Duration.ofSeconds(1)

  /** The SQLExceptions in a chain of causes, outermost first. */
  def sqlErrors(error: Throwable): List[SQLException] =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null).take(20).collect { case e: SQLException => e }.toList
}
