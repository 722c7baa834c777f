package io.epochal.jdbc.sql

import java.sql.{Connection, PreparedStatement, ResultSet}

import scala.util.Using

/** Statements with parameters: `Some`, `None` (NULL), strings and numbers. */
object Sql {

  def query[A](connection: Connection, sql: String, parameters: Any*)(read: ResultSet => A): Seq[A] =
    Using.resource(connection.prepareStatement(sql)) { statement =>
      bind(statement, parameters)
      Using.resource(statement.executeQuery()) { rows =>
        Iterator.continually(rows).takeWhile(_.next()).map(read).toVector
      }
    }

  /** Gives the number of rows that changed. */
  def update(connection: Connection, sql: String, parameters: Any*): Long =
    Using.resource(connection.prepareStatement(sql)) { statement =>
      bind(statement, parameters)
      execute(statement)
    }

  /** The same; drivers older than JDBC 4.2 count in an Int only. */
  def execute(statement: PreparedStatement): Long =
    try statement.executeLargeUpdate()
    catch { case _: UnsupportedOperationException => statement.executeUpdate().toLong }

  /** Runs a statement that has no parameters, and whose result does not count. */
  def run(connection: Connection, sql: String): Unit =
    Using.resource(connection.createStatement())(_.execute(sql)): Unit

  def long(rows: ResultSet, column: String): Option[Long] = {
    val value = rows.getLong(column)
    Option.unless(rows.wasNull)(value)
  }

  private def bind(statement: PreparedStatement, parameters: Seq[Any]): Unit =
    parameters.zipWithIndex.foreach {
      case (Some(value), i) => set(statement, i + 1, value)
      case (None, i)        => statement.setObject(i + 1, null)
      case (value, i)       => set(statement, i + 1, value)
    }

  private def set(statement: PreparedStatement, index: Int, value: Any): Unit = value match {
    case text: String => statement.setString(index, text)
    case number: Long => statement.setLong(index, number)
    case number: Int  => statement.setInt(index, number)
    case other        => throw new IllegalArgumentException(s"no SQL parameter: ${other.getClass.getName}")
  }
}
