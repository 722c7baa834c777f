package io.epochal.jdbc.mysql

import java.io.Closeable
import java.sql.{Connection, SQLException}
import java.util.{Collections, WeakHashMap}

import scala.util.Try

import io.epochal.jdbc.database.Sessions
import io.epochal.jdbc.database.{Blocker, Writer}
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

/** Finds the session of a sink's predecessor. While a transaction is open it holds the lock
  * `epochal.<sink>.<generation>.<session>`, taken by GET_LOCK, and the server shows which session holds it. Servers that refuse such
  * locks, as some clusters do, show no holder: then no session is ended.
  *
  * InnoDB shows which session blocks the claim to users with PROCESS (in MySQL also SELECT on
  * `performance_schema.data_lock_waits`). For other users the held lock is sufficient proof: the older run's transaction is open
  * while the claim waits.
  */
private[mysql] object MysqlSessions extends Sessions {

  private def prefix(sink: String): String = s"epochal.$sink."
  private def lock(writer: Writer, session: Long): String = s"${prefix(writer.sink)}${writer.generation}.$session"

  /** SQL for the lock name of the current session. */
  private def lockName(writer: Writer): String =
    s"CONCAT('${prefix(writer.sink)}${writer.generation}.', CONNECTION_ID())"

  def mark(connection: Connection, writer: Writer): Unit =
    Try(Sql.query(connection, s"SELECT GET_LOCK(${lockName(writer)}, 0)")(_.getInt(1))): Unit

  override def ended(connection: Connection, writer: Writer): Unit =
    Sql.query(connection, s"SELECT RELEASE_LOCK(${lockName(writer)})")(_.getInt(1)): Unit

  override def current(connection: Connection): Long =
    Sql.query(connection, "SELECT CONNECTION_ID()")(_.getLong(1)).head

  /** The session's number, which a connection keeps: it is read once. */
  override def session(connection: Connection, id: Option[String]): Option[String] =
    Some(numbers.computeIfAbsent(connection.unwrap(classOf[Connection]), _ => current(connection).toString))

  private val numbers = Collections.synchronizedMap(new WeakHashMap[Connection, String])

  /** While rows are sent for LOAD DATA, the server waits no longer than its `net_read_timeout`. */
  override def busy(connection: Connection, keys: Seq[String], milliseconds: Long): Set[String] =
    sql"""SELECT id FROM information_schema.processlist WHERE id IN ${Sql.list(keys.map(_.toLong))}
         |AND (command <> 'Sleep' OR time < ${math.max(1L, milliseconds / 1000)})"""
      .query(connection)(_.getString(1))
      .toSet

  /** MariaDB's driver first reads what is left, which waits for the thread that reads: so its socket is closed before. */
  override def abort(connection: Connection): Unit = {
    def member(of: AnyRef, name: String): Option[AnyRef] =
      Iterator
        .iterate[Class[_]](of.getClass)(_.getSuperclass)
        .takeWhile(_ != null)
        .flatMap(_.getDeclaredFields)
        .find(_.getName == name)
        .map { field =>
          field.setAccessible(true)
          field.get(of)
        }
    Try(for {
      client <- member(connection.unwrap(classOf[Connection]), "client")
      socket <- member(member(client, "currentClient").getOrElse(client), "socket")
    } socket.asInstanceOf[Closeable].close()): Unit
    super.abort(connection)
  }

  override def endSession(connection: Connection, key: String): Unit = Sql.run(connection, s"KILL $key")

  /** Includes indirect blockers. */
  override def blockers(connection: Connection, waiting: Long, successor: Writer): Seq[Blocker] = {
    val older = holders(connection, successor)
    val blocking = blockersOf(connection, waiting).getOrElse(
      if (isInStatement(connection, waiting)) older.keys.filter(_ != waiting).toSeq else Nil)
    val sessions = blocking.filter(_ != NoSession)
    describe(connection, sessions, older) ++ Option.when(blocking.contains(NoSession))(
      Blocker(None, "a transaction without a session (see XA RECOVER)", "", None))
  }

  /** The sessions that are in a transaction of the sink's latest generations. */
  private def holders(connection: Connection, successor: Writer): Map[Long, Writer] = {
    val last = successor.generation
    Sql
      .raw(text"""WITH RECURSIVE known AS (
         |  SELECT $last AS generation UNION ALL
         |  SELECT generation - 1 FROM known WHERE generation > ${math.max(1L, last - Generations + 1)})
         |SELECT s.id, k.generation FROM information_schema.processlist AS s JOIN known AS k
         |ON IS_USED_LOCK(CONCAT('${prefix(successor.sink)}', k.generation, '.', s.id)) = s.id""")
      .query(connection)(rows => rows.getLong("id") -> Writer(successor.sink, rows.getLong("generation")))
      .groupMapReduce(_._1)(_._2)((one, other) => if (one.generation > other.generation) one else other)
  }

  /** None if the server does not show it, or not to this user. */
  private def blockersOf(connection: Connection, waiting: Long): Option[Seq[Long]] =
    pairs(connection).flatMap { pairs =>
      val waits = Sql.raw(text"""WITH RECURSIVE pairs AS ($pairs), waits AS (
           |  SELECT blocking FROM pairs WHERE requesting = $waiting UNION
           |  SELECT p.blocking FROM pairs AS p JOIN waits AS w ON p.requesting = w.blocking)
           |SELECT blocking FROM waits WHERE blocking <> $waiting""")
      try Some(waits.query(connection)(_.getLong(1)))
      catch { case error: SQLException if MysqlErrors.denied(error) => None }
    }

  /** SQL for the pairs of waiting and blocking sessions in InnoDB. */
  private def pairs(connection: Connection): Option[String] =
    Sql
      .query(connection, "SELECT VERSION(), @@performance_schema")(rows => (rows.getString(1), rows.getBoolean(2)))
      .map {
        case (version, _) if MysqlVersion(version).isMariadb => Some(OfMariadb)
        case (_, isObserved)                                 => Option.when(isObserved)(OfMysql)
      }
      .head

  private def isInStatement(connection: Connection, waiting: Long): Boolean =
    sql"SELECT id FROM information_schema.processlist WHERE id = $waiting AND command <> 'Sleep' AND time >= 1"
      .query(connection)(_.getLong(1))
      .nonEmpty

  /** A session in its COMMIT is neither dead nor frozen: the server finishes it regardless of its client, and it may be waiting for
    * a replica.
    */
  private def describe(connection: Connection, sessions: Seq[Long], older: Map[Long, Writer]): Seq[Blocker] =
    if (sessions.isEmpty) Nil
    else
      sql"""SELECT id, user, time, info, user = SUBSTRING_INDEX(USER(), '@', 1) AS mine
           |FROM information_schema.processlist WHERE id IN ${Sql.list(sessions)}""".query(connection) { rows =>
        val id = rows.getLong("id")
        val statement = Option(rows.getString("info")).map(_.trim.takeWhile(_.isLetter)).filter(_.nonEmpty)
        val mine = rows.getBoolean("mine") && !statement.exists(_.equalsIgnoreCase("COMMIT"))
        val writer = older.get(id).filter(_ => mine)
        Blocker(
          Some(id),
          s"connection $id of user ${rows.getString("user")}, for ${rows.getLong("time")} s " +
            statement.fold("idle in its transaction")(kind => s"in $kind"),
          writer.fold("")(lock(_, id)),
          writer
        )
      }

  override def end(connection: Connection, blocker: Blocker): Unit =
    for {
      id <- blocker.process
      if Sql.query(connection, s"SELECT IS_USED_LOCK('${blocker.key}')")(_.getLong(1)).head == id
    } Sql.run(connection, s"KILL $id")

  /** InnoDB's session number for transactions without a session. */
  private val NoSession = 0L

  /** Number of generations that are searched: a run that wakes after more claims than this, and freezes again, is not found. */
  private val Generations = 100

  private val OfMariadb =
    text"""SELECT r.trx_mysql_thread_id AS requesting, b.trx_mysql_thread_id AS blocking
       |FROM information_schema.innodb_lock_waits AS w
       |JOIN information_schema.innodb_trx AS r ON r.trx_id = w.requesting_trx_id
       |JOIN information_schema.innodb_trx AS b ON b.trx_id = w.blocking_trx_id"""

  // Comparing the ids as numbers finds nothing.
  private val OfMysql =
    text"""SELECT r.trx_mysql_thread_id AS requesting, b.trx_mysql_thread_id AS blocking
       |FROM performance_schema.data_lock_waits AS w
       |JOIN information_schema.innodb_trx AS r ON r.trx_id = CAST(w.requesting_engine_transaction_id AS CHAR)
       |JOIN information_schema.innodb_trx AS b ON b.trx_id = CAST(w.blocking_engine_transaction_id AS CHAR)"""
}
