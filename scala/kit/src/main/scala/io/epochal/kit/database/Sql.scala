package io.epochal.kit.database

import java.sql.{Connection, PreparedStatement, ResultSet, SQLException}

import scala.util.{Try, Using}

/** A statement with its parameters in place: `sql"DELETE FROM $table WHERE sink_id = $sinkId"`, where `table` is [[Sql.raw]].
  *
  * An interpolated value becomes a parameter: a string, a number, `Some`, `None` (NULL). Only another `Sql` is inserted as text.
  */
final class Sql private (private val text: String, private val parameters: Seq[Any]) {

  def query[A](connection: Connection)(read: ResultSet => A): Seq[A] =
    withStatement(connection)(statement => Using.resource(statement.executeQuery())(Sql.all(_)(read)))

  /** Returns the number of changed rows. */
  def update(connection: Connection): Long = withStatement(connection)(Sql.execute)

  def run(connection: Connection): Unit = update(connection): Unit

  private def withStatement[A](connection: Connection)(body: PreparedStatement => A): A =
    Using.resource(connection.prepareStatement(text)) { statement =>
      parameters.zipWithIndex.foreach { case (value, i) => Sql.bind(statement, i + 1, value) }
      body(statement)
    }
}

object Sql {

  /** SQL text inserted as it is: quoted names, expressions. */
  def raw(text: String): Sql = new Sql(text, Nil)

  /** A name in double quotes, as standard SQL has it. */
  def quoted(name: String): String = "\"" + name.replace("\"", "\"\"") + "\""

  /** A list of parameters for IN. */
  def list(values: Seq[Any]): Sql = new Sql(values.map(_ => "?").mkString("(", ", ", ")"), values)

  /** The pieces with commas between them. */
  def join(pieces: Seq[Sql]): Sql = new Sql(pieces.map(_.text).mkString(", "), pieces.flatMap(_.parameters))

  /** Runs statements, and returns the rows of each. The driver must accept several at once: PostgreSQL's sends them in one message,
    * and the server skips those that follow an error.
    *
    * @param read
    *   takes the statement's index, too
    */
  def queryAll[A](connection: Connection, statements: Seq[Sql])(read: (Int, ResultSet) => A): Seq[Seq[A]] =
    several(connection, statements)((statement, index, hasRows) =>
      if (hasRows) Using.resource(statement.getResultSet)(all(_)(read(index, _))) else Nil)

  /** The same, and returns how many rows each statement changed; -1: it returned rows. */
  def updateAll(connection: Connection, statements: Seq[Sql]): Seq[Long] =
    several(connection, statements)((statement, _, hasRows) => if (hasRows) -1L else statement.getLargeUpdateCount)

  private def several[A](connection: Connection, statements: Seq[Sql])(
      result: (PreparedStatement, Int, Boolean) => A): Seq[A] =
    new Sql(statements.map(_.text).mkString(";\n"), statements.flatMap(_.parameters)).withStatement(connection) {
      statement =>
        var hasRows = statement.execute()
        statements.indices.map { index =>
          val each = result(statement, index, hasRows)
          hasRows = statement.getMoreResults()
          each
        }
    }

  private def all[A](rows: ResultSet)(read: ResultSet => A): Seq[A] =
    Iterator.continually(rows).takeWhile(_.next()).map(read).toVector

  private[database] def of(parts: Seq[String], values: Seq[Any]): Sql = new Sql(
    StringContext(parts: _*).s(values.map { case sql: Sql => sql.text; case _ => "?" }: _*),
    values.flatMap { case sql: Sql => sql.parameters; case value => Seq(value) })

  /** Runs a query without parameters. */
  def query[A](connection: Connection, text: String)(read: ResultSet => A): Seq[A] = raw(text).query(connection)(read)

  /** Runs a statement without parameters, and returns the number of changed rows. */
  def update(connection: Connection, text: String): Long = raw(text).update(connection)

  /** Returns the number of changed rows; drivers older than JDBC 4.2 support an Int only. */
  def execute(statement: PreparedStatement): Long =
    try statement.executeLargeUpdate()
    catch { case _: UnsupportedOperationException => statement.executeUpdate().toLong }

  /** Runs a statement without parameters, whose result is ignored. */
  def run(connection: Connection, sql: String): Unit =
    Using.resource(connection.createStatement())(_.execute(sql)): Unit

  /** Whether a statement finds no row in the table. Without LIMIT, whose syntax differs between databases. */
  def isEmpty(connection: Connection, table: String): Boolean =
    Using.resource(connection.createStatement()) { statement =>
      statement.setMaxRows(1)
      Using.resource(statement.executeQuery(s"SELECT 1 FROM $table"))(rows => !rows.next())
    }

  /** Creates an object, unless another session creates it concurrently. */
  def create(connection: Connection, sql: String)(exists: => Boolean): Unit =
    try run(connection, sql)
    catch { case error: SQLException => if (!Try(exists).getOrElse(false)) throw error }

  /** The SQLSTATE of an error; empty if the driver sets none. */
  def state(error: SQLException): String = Option(error.getSQLState).getOrElse("")

  def long(rows: ResultSet, column: String): Option[Long] = {
    val value = rows.getLong(column)
    Option.unless(rows.wasNull)(value)
  }

  /** An array of texts of PostgreSQL. */
  def strings(rows: ResultSet, column: String): Seq[String] =
    rows.getArray(column).getArray.asInstanceOf[Array[String]].toSeq

  private def bind(statement: PreparedStatement, index: Int, value: Any): Unit = value match {
    case Some(content) => bind(statement, index, content)
    case None          => statement.setObject(index, null)
    case text: String  => statement.setString(index, text)
    case number: Long  => statement.setLong(index, number)
    case number: Int   => statement.setInt(index, number)
    case other         => throw new IllegalArgumentException(s"no SQL parameter: ${other.getClass.getName}")
  }
}
