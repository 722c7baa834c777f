package io.epochal.jdbc.mysql

import java.sql.SQLException

import io.epochal.core.retry.Verdict
import io.epochal.jdbc.database._
import io.epochal.kit.database.Sql

/** Classifies the error numbers of server and drivers. */
private[mysql] object MysqlErrors extends DriverErrors {

  /** The connection is lost: server shutdown, network failure, killed session; the drivers' own numbers start at 2000. */
  private val Lost = Set(1053, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 2002, 2003, 2006, 2013, 2055)

  /** Deadlock, lock wait timeout, changed since read, too many connections or transactions, group replication's rollback. */
  private val Busy = Set(1213, 1205, 1020, 1040, 1203, 1226, 1637, 3101)

  /** A primary that became a replica: another connection may lead to the new one. */
  private val ReadOnly = Set(1290, 1792, 1836)

  /** Wrong or no password, unknown host, other authentication, expired password, locked account (MySQL, MariaDB). */
  private val Refused = Set(1045, 1698, 1130, 1251, 1862, 3118, 4151)

  /** Login refused, no rights on the database, unknown database, protocol violation: in or near class 08, but permanent. */
  private val Wrong = Refused ++ Set(1043, 1044, 1049)

  /** MariaDB's driver reports this, also at COMMIT, if it lost the connection in a transaction and has reached another server of
    * the URL since.
    */
  private val LostInTransaction = "25S03"

  override def losesConnection(error: SQLException): Boolean =
    !Wrong(error.getErrorCode) && !packetTooLarge(error) &&
      (Lost(error.getErrorCode) || Sql.state(error).startsWith("08") || Sql.state(error) == LostInTransaction)

  override def refusesLogin(error: SQLException): Boolean =
    super.refusesLogin(error) || Refused(error.getErrorCode)

  val PacketTooLarge = 1153

  /** The server's error number, and the messages of drivers that check before sending: their SQLSTATEs are those of a lost connection. */
  private def packetTooLarge(error: SQLException): Boolean =
    error.getErrorCode == PacketTooLarge || Option(error.getMessage).exists(_.contains("max_allowed_packet"))

  /** The connection limit of the server, of the user, or of the user's resources. */
  override def tooManyConnections(error: SQLException): Option[String] =
    Option.when(Set(1040, 1203, 1226)(error.getErrorCode))("max_connections and max_user_connections")

  /** ER_LOCK_WAIT_TIMEOUT, of rows and of tables. */
  override def isLocked(error: SQLException): Boolean = error.getErrorCode == 1205

  /** ER_DISK_FULL, ER_RECORD_FILE_FULL; or the operating system's ENOSPC, as the storage engine reports it. */
  override def isFull(error: SQLException): Boolean =
    Set(1021, 1114)(error.getErrorCode) ||
      Set(3, 1026, 1030)(error.getErrorCode) && Option(error.getMessage).exists(
        _.matches("(?is).*(errno|error|errcode):? 28\\b.*"))

  override def rowTooLarge(error: SQLException): Option[String] =
    Option.when(packetTooLarge(error))("max_allowed_packet")

  /** A missing privilege on the table, database or column, or a global one such as PROCESS. */
  override def denied(error: SQLException): Boolean = Set(1142, 1044, 1143, 1227)(error.getErrorCode)

  private def readOnly(error: SQLException): Boolean = ReadOnly(error.getErrorCode)

  override def verdict(error: SQLException): Verdict = {
    val passes = losesConnection(error) || readOnly(error) || Busy(error.getErrorCode) ||
      Sql.state(error).startsWith("40") || Sql.state(error) == "55P03"
    if (passes && !packetTooLarge(error)) Verdict.Retry else Verdict.GiveUp
  }

  override def outlives(error: SQLException): Boolean = losesConnection(error) || readOnly(error)
  override def opensLater(error: SQLException): Boolean = tooManyConnections(error).isDefined
}
