package io.epochal.jdbc.sql

import java.sql.{Connection, SQLException}

import scala.util.Try

private[jdbc] object Ddl {

  /** Makes something, unless somebody else makes it at the same moment. */
  def create(connection: Connection, sql: String)(exists: => Boolean): Unit =
    try Sql.run(connection, sql)
    catch { case error: SQLException => if (!Try(exists).getOrElse(false)) throw error }
}
