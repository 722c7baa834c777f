package io.epochal.jdbc.postgres

import java.sql.Connection

import scala.util.control.NonFatal

import org.postgresql.PGConnection

/** One binary COPY into a table. Takes rows as [[CopyFormat]] encodes them; closed before it is finished, it is cancelled.
  *
  * @param into
  *   a table, quoted
  */
final private[postgres] class CopyStream(connection: Connection, into: String, columns: Seq[String])
    extends AutoCloseable {

  private val in = connection
    .unwrap(classOf[PGConnection])
    .getCopyAPI
    .copyIn(s"COPY $into (${columns.map(PostgresDialect.quote).mkString(", ")}) FROM STDIN (FORMAT binary)")
  in.writeToCopy(CopyFormat.Header, 0, CopyFormat.Header.length)

  def write(bytes: Array[Byte], length: Int): Unit = in.writeToCopy(bytes, 0, length)

  /** Gives the number of rows that the server stored. */
  def finish(): Long = {
    in.writeToCopy(CopyFormat.Trailer, 0, CopyFormat.Trailer.length)
    in.endCopy()
  }

  /** A copy that the server has ended, with the error that explains it, cannot be cancelled any more. */
  override def close(): Unit =
    if (in.isActive)
      try in.cancelCopy()
      catch { case NonFatal(_) => () }
}
