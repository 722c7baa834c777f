package io.epochal.jdbc.mysql

import java.sql.SQLException

/** What the server's and the drivers' error numbers mean for a transaction. */
private[mysql] object MysqlErrors {

  /** The connection is gone: server shutting down, network, killed; the drivers' own numbers from 2000 on. */
  private val Lost = Set(1053, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 2002, 2003, 2006, 2013, 2055)

  /** Deadlock, lock wait timeout, changed since read, too many connections or transactions, group replication's rollback. */
  private val Busy = Set(1213, 1205, 1020, 1040, 1203, 1226, 1637, 3101)

  /** A primary that became a replica: another connection may lead to the new one. */
  private val ReadOnly = Set(1290, 1792, 1836)

  /** Access denied, no such database, protocol violated: of class 08 or with it, but they will not pass. */
  private val Wrong = Set(1043, 1044, 1045, 1049, 1251)

  /** What MariaDB's driver says when the connection was lost in a transaction, at its COMMIT too, and another server of the
    * URL has answered since.
    */
  private val LostInTransaction = "25S03"

  def losesConnection(error: SQLException): Boolean =
    !Wrong(error.getErrorCode) && !packetTooLarge(error) &&
      (Lost(error.getErrorCode) || state(error).startsWith("08") || state(error) == LostInTransaction)

  val PacketTooLarge = 1153

  /** The server's own number, and what drivers say that look before they send: their states are those of a lost connection. */
  def packetTooLarge(error: SQLException): Boolean =
    error.getErrorCode == PacketTooLarge || Option(error.getMessage).exists(_.contains("max_allowed_packet"))

  /** Of the server, of the user in all, of the user's resources. */
  def tooManyConnections(error: SQLException): Boolean = Set(1040, 1203, 1226)(error.getErrorCode)

  /** A privilege is missing: for the table, the database, the column, or such as PROCESS. */
  def denied(error: SQLException): Boolean = Set(1142, 1044, 1143, 1227)(error.getErrorCode)

  def readOnly(error: SQLException): Boolean = ReadOnly(error.getErrorCode)

  /** Whether the same can succeed if tried again. */
  def passes(error: SQLException): Boolean =
    !packetTooLarge(error) && (losesConnection(error) || readOnly(error) || Busy(error.getErrorCode) || state(error)
      .startsWith("40") ||
      state(error) == "55P03")

  private def state(error: SQLException): String = Option(error.getSQLState).getOrElse("")
}
