package io.epochal.jdbc.postgres

import java.sql.Connection

import scala.util.control.NonFatal

import org.postgresql.PGConnection

import io.epochal.jdbc.database.ConnectionWatch

/** One binary COPY into a table, of rows encoded by [[CopyFormat]]. Closing it before `finish` cancels the copy.
  *
  * @param into
  *   a quoted table name
  */
final private[postgres] class CopyStream(connection: Connection, into: String, columns: Seq[String])
    extends AutoCloseable {

  private val in = connection
    .unwrap(classOf[PGConnection])
    .getCopyAPI
    .copyIn(s"COPY $into (${columns.map(PostgresDialect.quote).mkString(", ")}) FROM STDIN (FORMAT binary)")
  in.writeToCopy(CopyFormat.Header, 0, CopyFormat.Header.length)

  def write(bytes: Array[Byte], length: Int): Unit = {
    in.writeToCopy(bytes, 0, length)
    ConnectionWatch.step()
  }

  /** Returns the number of rows that the server stored. */
  def finish(): Long = {
    in.writeToCopy(CopyFormat.Trailer, 0, CopyFormat.Trailer.length)
    in.endCopy()
  }

  /** A copy that the server has ended with an error cannot be cancelled any more; that error is the one to report. */
  override def close(): Unit =
    if (in.isActive)
      try in.cancelCopy()
      catch { case NonFatal(_) => () }
}
