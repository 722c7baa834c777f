package io.epochal.spark.sink.jdbc.mysql

import java.sql.{Connection, ResultSet}

import scala.util.Try

import io.epochal.spark.sink.jdbc.connection.SqlText._
import io.epochal.spark.sink.jdbc.connection.{Blocker, Sql, Writer}

/** How a successor finds the session of its predecessor (K15): a transaction holds the lock `epochal.<sink>.<generation>` by
  * GET_LOCK while it is open, and the server tells which session that is. A server that refuses such locks (some clusters
  * do) does not tell: then nothing is ended.
  */
private[mysql] object MysqlSessions {

  private def lock(writer: Writer): String = s"epochal.${writer.sink}.${writer.generation}"

  def mark(connection: Connection, writer: Writer): Unit =
    Try(Sql.query(connection, s"SELECT GET_LOCK('${lock(writer)}', 0)")(_.getInt(1))): Unit

  def unmark(connection: Connection, writer: Writer): Unit =
    Sql.query(connection, s"SELECT RELEASE_LOCK('${lock(writer)}')")(_.getInt(1)): Unit

  def current(connection: Connection): Long = Sql.query(connection, "SELECT CONNECTION_ID()")(_.getLong(1)).head

  /** The session of the sink's last generation, and, as far as this user may see them, others with locks on rows. */
  def blockers(connection: Connection, waiting: Long, successor: Writer): Seq[Blocker] = {
    val own = Sql.query(
      connection,
      sql"""SELECT id, user, time, command, info FROM information_schema.processlist
         |WHERE id = IS_USED_LOCK('${lock(successor)}') AND id <> $waiting AND user = SUBSTRING_INDEX(USER(), '@', 1)"""
    )(blocker(_, Some(successor)))
    val others = Seq(OfMariadb, OfMysql).iterator
      .map(sql => Try(Sql.query(connection, sql, waiting)(blocker(_, None))))
      .find(_.isSuccess)
      .fold(Seq.empty[Blocker])(_.get)
    own ++ others.filterNot(other => own.exists(_.process == other.process))
  }

  private def blocker(rows: ResultSet, writer: Option[Writer]): Blocker = {
    val id = rows.getLong("id")
    val kind = Option(rows.getString("info")).map(_.trim.takeWhile(_.isLetter)).filter(_.nonEmpty)
    Blocker(
      Some(id),
      s"connection $id of user ${rows.getString("user")}, for ${rows.getLong(
          "time")} s ${kind.fold("idle in its transaction")(k => s"in $k")}",
      writer.fold("")(lock),
      writer
    )
  }

  def end(connection: Connection, blocker: Blocker): Unit =
    for {
      id <- blocker.process
      if Sql.query(connection, s"SELECT IS_USED_LOCK('${blocker.key}')")(_.getLong(1)).head == id
    } MysqlDialect.execute(connection, s"KILL $id")

  private val Sessions =
    "SELECT p.id, p.user, p.time, p.command, p.info FROM information_schema.processlist AS p WHERE p.id IN"
  private val OfMariadb =
    sql"""$Sessions (SELECT b.trx_mysql_thread_id FROM information_schema.innodb_lock_waits AS w
       |JOIN information_schema.innodb_trx AS b ON b.trx_id = w.blocking_trx_id
       |JOIN information_schema.innodb_trx AS r ON r.trx_id = w.requesting_trx_id WHERE r.trx_mysql_thread_id = ?)"""
  private val OfMysql =
    s"$Sessions (SELECT blocking_pid FROM sys.innodb_lock_waits WHERE waiting_pid = ?)"
}
