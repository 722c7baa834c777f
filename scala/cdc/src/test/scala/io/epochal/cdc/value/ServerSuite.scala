package io.epochal.cdc.value

import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.sql.{Connection, DriverManager}

import scala.util.Using

import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types._
import org.postgresql.PGConnection
import org.postgresql.util.ByteConverter
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.{BeforeAndAfterAll, Tag}

import io.epochal.cdc.pgoutput.TestTuple
import io.epochal.jdbc.TestServer

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
    PostgresColumn.of(connection, Seq(oid), None)(oid)
  }

  private def copied(table: String, format: String): Array[Byte] = {
    val out = new ByteArrayOutputStream
    connection
      .unwrap(classOf[PGConnection])
      .getCopyAPI
      .copyOut(s"COPY (SELECT * FROM $table ORDER BY id) TO STDOUT (FORMAT $format)", out)
    out.toByteArray
  }

  /** The rows of a table in the order of `id`, by COPY in text format. */
  protected def byText(table: String, schema: StructType): Seq[Seq[Any]] = {
    val bytes = copied(table, "text")
    val reader = new RowReader(table, columns(table), schema)
    val ends = bytes.indices.filter(bytes(_) == '\n')
    (0 +: ends.map(_ + 1)).zip(ends).map { case (from, until) =>
      val row = new Array[Any](schema.size)
      reader.copyText(bytes, from, until - from, row)
      plain(row, schema)
    }
  }

  /** The same in binary format, whose values also are those of a TupleData. */
  protected def byBinary(table: String, schema: StructType): Seq[Seq[Any]] = {
    val bytes = copied(table, "binary")
    val reader = new RowReader(table, columns(table), schema)
    assert(reader.hasBinary)
    var at = 19 + ByteConverter.int4(bytes, 15)
    Iterator
      .continually(at)
      .takeWhile(ByteConverter.int2(bytes, _) >= 0)
      .map { from =>
        val row = new Array[Any](schema.size)
        at = reader.copyBinary(bytes, from, row)
        val tuple = tupleOf(bytes, from)
        val again = new Array[Any](schema.size)
        assert(reader.tuple(tuple, 0, again) == tuple.length)
        assert(plain(again, schema) == plain(row, schema))
        plain(row, schema)
      }
      .toVector
  }

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

  /** The TupleData of a row of COPY's binary format. */
  private def tupleOf(bytes: Array[Byte], offset: Int): Array[Byte] = {
    val out = new ByteArrayOutputStream
    out.write(bytes, offset, 2)
    var at = offset + 2
    (0 until ByteConverter.int2(bytes, offset).toInt).foreach { _ =>
      val length = ByteConverter.int4(bytes, at)
      if (length < 0) out.write('n'.toInt)
      else {
        out.write('b'.toInt)
        out.write(bytes, at, 4 + length)
      }
      at += 4 + math.max(length, 0)
    }
    out.toByteArray
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

  protected def utf8(text: String): Array[Byte] = text.getBytes(UTF_8)
}
