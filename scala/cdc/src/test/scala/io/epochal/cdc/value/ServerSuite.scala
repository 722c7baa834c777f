package io.epochal.cdc.value

import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.sql.{Connection, DriverManager}

import scala.util.Using

import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types._
import org.postgresql.PGConnection
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.{BeforeAndAfterAll, Tag}

import io.epochal.cdc.pgoutput.TestTuple
import io.epochal.jdbc.TestServer
import io.epochal.kit.database.{PostgresColumn, PostgresType}

/** A suite with a database of its own, and a session with the settings of [[ValueReader.Settings]]. */
abstract class ServerSuite(kind: String, server: => Either[String, String]) extends AnyFunSuite with BeforeAndAfterAll {
  private val name = s"values_${ProcessHandle.current.pid}_${getClass.getSimpleName.toLowerCase(java.util.Locale.ROOT)}"
  private lazy val url = server.fold(TestServer.missing("postgres"), identity)
  private var open = Option.empty[Connection]

  protected lazy val connection: Connection = {
    admin(s"CREATE DATABASE $name")
    val session = DriverManager.getConnection(url.replaceFirst("/[^/?]*(?=\\?|$)", s"/$name"))
    open = Some(session)
    // What a role or a database may have set.
    Seq("IntervalStyle = 'iso_8601'", "TimeZone = 'Asia/Kolkata'", "bytea_output = 'escape'")
      .foreach(setting => Using.resource(session.createStatement())(_.execute(s"SET $setting")))
    ValueReader.Settings.foreach { case (setting, value) =>
      Using.resource(session.createStatement())(_.execute(s"SET $setting = '$value'"))
    }
    session
  }

  protected lazy val version: Int = connection.getMetaData.getDatabaseMajorVersion

  override def afterAll(): Unit = open.foreach { session =>
    session.close()
    admin(s"DROP DATABASE $name WITH (FORCE)")
  }

  private def admin(sql: String): Unit = Using.resource(DriverManager.getConnection(url))(admin =>
    Using.resource(admin.createStatement())(_.execute(sql)): Unit)

  protected def on(claim: String, tags: Tag*)(body: => Any): Unit = test(s"$kind: $claim", tags: _*) { body; () }

  protected def execute(sql: String*): Unit =
    Using.resource(connection.createStatement())(statement => sql.foreach(statement.execute(_)))

  protected def query(sql: String): Seq[Seq[Any]] = Using.resource(connection.createStatement()) { statement =>
    val rows = statement.executeQuery(sql)
    val columns = 1 to rows.getMetaData.getColumnCount
    Iterator
      .continually(rows)
      .takeWhile(_.next())
      .map(row =>
        columns.map(i =>
          row.getObject(i) match {
            case array: java.sql.Array => array.getArray.asInstanceOf[Array[AnyRef]].toSeq
            case value                 => value
          }))
      .toVector
  }

  protected def columns(table: String): Seq[PostgresColumn] = {
    val oid = query(s"SELECT '$table'::regclass::oid::bigint").head.head.asInstanceOf[Long]
    CatalogColumns.of(connection, Seq(oid), None)(oid)
  }

  private def copied(table: String, format: String): Array[Byte] = {
    val out = new ByteArrayOutputStream
    connection
      .unwrap(classOf[PGConnection])
      .getCopyAPI
      .copyOut(s"COPY (SELECT * FROM $table ORDER BY id) TO STDOUT (FORMAT $format)", out)
    out.toByteArray
  }

  /** The rows of a table in the order of `id`, sent as texts. */
  protected def byText(table: String, schema: StructType): Seq[Seq[Any]] = {
    val reader = new RowReader(table, columns(table), schema)
    new String(copied(table, "text"), UTF_8).split('\n').toSeq.map { line =>
      read(reader, TestTuple.of(line.split("\t", -1).map(unescaped).toSeq: _*), schema)
    }
  }

  /** The same in binary form. */
  protected def byBinary(table: String, schema: StructType): Seq[Seq[Any]] = {
    val bytes = copied(table, "binary")
    val reader = new RowReader(table, columns(table), schema)
    assert(reader.hasBinary)
    val in = ByteBuffer.wrap(bytes)
    in.position(19 + in.getInt(15))
    Iterator
      .continually(in.getShort().toInt)
      .takeWhile(_ >= 0)
      .map { count =>
        val values = Seq.fill(count) {
          val length = in.getInt()
          if (length < 0) null
          else {
            val value = new Array[Byte](length)
            in.get(value)
            value
          }
        }
        read(reader, TestTuple.of(values: _*), schema)
      }
      .toVector
  }

  private def read(reader: RowReader, tuple: Array[Byte], schema: StructType): Seq[Any] = {
    val row = new Array[Any](schema.size)
    assert(reader.tuple(tuple, 0, row) == tuple.length)
    plain(row, schema)
  }

  /** A value of COPY's text format: `\N` is NULL. */
  private def unescaped(text: String): String =
    if (text == "\\N") null
    else
      "\\\\(.)".r.replaceAllIn(
        text,
        escape =>
          java.util.regex.Matcher.quoteReplacement(escape.group(1) match {
            case letter if "bfnrtv".contains(letter) => "\b\f\n\r\t\u000b".charAt("bfnrtv".indexOf(letter)).toString
            case other                               => other
          }))

  /** The rows of a table in the order of `id` as JSON: as changes and as a snapshot, whose columns are read by `printed`. */
  protected def asJson(table: String, printed: (String, PostgresType) => String): Seq[String] = {
    val described = columns(table)
    // As the journal keeps them.
    val kept = TypeText.read(TypeText.write(described.map(column => Some(column.kind))))
    val writers = Seq(described.map(_.kind), kept).map(kinds =>
      new RowJson(table, described.zip(kinds).map { case (column, kind) => (column.name, column.name == "id", kind) }))
    val list = described.map(column => printed("x.\"" + column.name.replace("\"", "\"\"") + "\"", column.kind))
    query(s"SELECT ${list.mkString(", ")} FROM $table x ORDER BY x.id").map { row =>
      val tuple = TestTuple.of(row: _*)
      val found = writers.map { writer =>
        writer.readRow(tuple, 0)
        writer.after.toString
      }
      assert(found.distinct.size == 1)
      found.head
    }
  }

  /** Values that can be compared by `==`. */
  protected def plain(row: Array[Any], schema: StructType): Seq[Any] =
    row.toSeq.zip(schema).map { case (value, field) => plain(value, field.dataType) }

  protected def plain(value: Any, kind: DataType): Any = (value, kind) match {
    case (array: ArrayData, ArrayType(element, _)) => array.toSeq[Any](element).map(plain(_, element))
    case (bytes: Array[Byte], _)                   => bytes.toSeq
    case (float: Float, _)                         => java.lang.Float.floatToIntBits(float)
    case (double: Double, _)                       => java.lang.Double.doubleToLongBits(double)
    case (other, _)                                => other
  }
}
