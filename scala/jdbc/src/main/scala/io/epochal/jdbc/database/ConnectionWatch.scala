package io.epochal.jdbc.database

import java.sql.{Connection, SQLException}
import java.util.concurrent.{ConcurrentHashMap, Executors, TimeUnit}

import scala.jdk.CollectionConverters._
import scala.util.Try
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.epochal.core.thread.DaemonThreads

/** The server as a second connection sees it.
  *
  * @param open
  *   opens a connection outside the pool
  * @param isSilent
  *   whether an error means that the server did not answer
  */
final private[database] class WatchedServer(
    val place: String,
    val sessions: Sessions,
    open: () => Connection,
    val isSilent: SQLException => Boolean) {

  def look[A](body: Connection => A): A = {
    val connection = open()
    try {
      connection.setNetworkTimeout(_.run(), WatchedServer.Timeout)
      body(connection)
    } finally connection.close()
  }
}

private object WatchedServer {

  /** In milliseconds. The statements of a check are short, and wait for no lock. */
  private val Timeout = 10000
}

/** Ends waits on a connection that is open but dead: a load balancer or proxy neither forwards anything nor closes it.
  *
  * A load or a COMMIT may take hours, so a long wait proves nothing. When a thread has waited in its driver for a while, a second
  * connection asks what the server does for the first one:
  *
  *   - it executes a statement: the wait continues
  *   - it waits for its client, or has ended the transaction, in two looks without progress in between: the connection is dead
  *   - it does not answer for two minutes, not even new connections: dead
  *
  * A dead connection is aborted, so that its thread sees a lost connection, and the server's session is ended, so that it holds no
  * locks. Outside a transaction a session cannot be identified, so the wait itself is limited.
  *
  * Not ended: a thread that is blocked while it ''sends'' rows over TLS, for as long as TCP accepts nothing.
  *
  * @param connection
  *   used by the thread that creates this object
  */
final private[database] class ConnectionWatch(connection: Connection, private val server: WatchedServer)
    extends AutoCloseable {
  import ConnectionWatch._

  private val thread = Thread.currentThread
  private val outer = current.get
  private val driver =
    Try(connection.unwrap(classOf[Connection])).getOrElse(connection).getClass.getName.split('.').take(2).mkString(".")

  @volatile private var session = Option.empty[String]
  @volatile private var limit = LongLimit
  @volatile private var steps = 0L

  // Used only by the watching thread.
  private var stepsBefore = 0L
  private var waits = 0
  private var idleLooks = 0
  private var silentLooks = 0

  current.set(this)
  watches.add(this)
  timerStart

  override def close(): Unit = {
    watches.remove(this)
    if (Thread.currentThread eq thread) current.set(outer)
  }

  /** Counts a check at which the thread has waited in its driver since the previous one. */
  private def count(): Unit = {
    val now = steps
    if (now == stepsBefore && isInDriver) waits += 1
    else {
      waits = 0
      idleLooks = 0
      silentLooks = 0
    }
    stepsBefore = now
  }

  private def isInDriver: Boolean = thread.getStackTrace.iterator
    .map(_.getClassName)
    .find(name => name.startsWith(driver) || name.startsWith("io.epochal."))
    .exists(_.startsWith(driver))

  private def countAnswer(isBusy: Boolean): Unit = {
    silentLooks = 0
    idleLooks = if (isBusy) 0 else idleLooks + 1
    if (idleLooks >= IdleLooks) end("the server waits for its client, or has ended its transaction")
  }

  private def countSilence(): Unit = {
    silentLooks += 1
    if (silentLooks >= SilentLooks) end("the server does not answer new connections")
  }

  private def end(reason: String): Unit = if (watches.remove(this)) {
    log.warn("epochal-jdbc: a connection to {} is open, but dead: {}. It is closed.", server.place: Any, reason)
    // `abort` may wait for the thread that uses the connection.
    new DaemonThreads("epochal-connection-end").newThread(() => Try(server.sessions.abort(connection)): Unit).start()
    session.foreach(key => Try(server.look(server.sessions.endSession(_, key))))
  }
}

private[jdbc] object ConnectionWatch {
  private val log = LoggerFactory.getLogger("io.epochal.jdbc.database.ConnectionWatch")
  private val watches = ConcurrentHashMap.newKeySet[ConnectionWatch]()
  private val current = new ThreadLocal[ConnectionWatch]

  /** Interval between checks, in milliseconds; shorter in tests. */
  @volatile private[jdbc] var pause = 5000L

  // Numbers of checks.
  private val FirstLook = 2
  private val IdleLooks = 2
  private val SilentLooks = 24
  private val ShortLimit = 12
  private val LongLimit = 120

  /** The key of this thread's transaction, by which another session can look at it ([[Sessions.session]]). */
  private[jdbc] def inSession[A](key: Option[String])(body: => A): A =
    try {
      enter(key)
      body
    } finally enter(None)

  /** Sets that key for the following statements. */
  private[jdbc] def enter(key: Option[String]): Unit = Option(current.get).foreach(_.session = key)

  /** Runs statements that a healthy connection answers at once: they may take a minute. */
  private[jdbc] def briefly[A](body: => A): A = Option(current.get).fold(body) { watch =>
    watch.limit = ShortLimit
    try body
    finally watch.limit = LongLimit
  }

  /** This thread has sent rows, so its connection is not dead. */
  private[jdbc] def step(): Unit = {
    val watch = current.get
    if (watch != null) watch.steps += 1
  }

  private lazy val timerStart: Unit = {
    val timer = Executors.newSingleThreadScheduledExecutor(new DaemonThreads("epochal-connection-watch"))
    def next(): Unit = timer.schedule(
      (() =>
        try look()
        finally next()): Runnable,
      pause,
      TimeUnit.MILLISECONDS): Unit
    next()
  }

  private def look(): Unit =
    try {
      watches.forEach(_.count())
      watches.asScala.filter(_.waits >= FirstLook).groupBy(_.server).foreach { case (server, waiting) =>
        val withKeys = waiting.toSeq.flatMap(watch => watch.session.map(_ -> watch))
        waiting.foreach { watch =>
          if (watch.session.isEmpty && watch.waits >= watch.limit)
            watch.end("a statement outside a transaction was not answered")
        }
        if (withKeys.nonEmpty) look(server, withKeys)
      }
    } catch { case NonFatal(error) => log.warn("epochal-jdbc: cannot watch connections", error) }

  private def look(server: WatchedServer, waiting: Seq[(String, ConnectionWatch)]): Unit =
    try {
      val busy = server.look(server.sessions.busy(_, waiting.map(_._1), pause))
      waiting.foreach { case (key, watch) => watch.countAnswer(busy(key)) }
    } catch {
      case error: SQLException if ConnectionPool.sqlErrors(error).exists(server.isSilent) =>
        waiting.foreach(_._2.countSilence())
      case NonFatal(error) =>
        log.debug("epochal-jdbc: cannot look at the sessions of {}: {}", server.place: Any, error.getClass.getName)
    }
}
