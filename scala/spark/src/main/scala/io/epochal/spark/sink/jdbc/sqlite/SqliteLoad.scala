package io.epochal.spark.sink.jdbc.sqlite

import java.sql.{Connection, PreparedStatement}

import scala.util.Using

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform

import io.epochal.spark.seam.{UnsafeRow, UnsafeRows}
import io.epochal.spark.sink.jdbc.json.JsonColumn
import io.epochal.spark.sink.jdbc.{BoundColumn, BoundTable, EncodedRows, Loaded, NulCharacter, Operation, WriteMode}

/** Puts encoded rows into a table by INSERTs of many rows each. */
private[sqlite] object SqliteLoad {

  def apply(connection: Connection, table: BoundTable, rows: EncodedRows, batchSize: Int): Loaded = {
    val target = SqliteDialect.quote(table.table.name)
    table.mode match {
      case WriteMode.Append => Loaded.Rows(insert(connection, target, table, rows, batchSize), rows.rows)
      case upsert: WriteMode.Upsert =>
        insert(connection, SqliteMerge.incoming(connection, table), table, rows, batchSize): Unit
        val loaded = SqliteMerge(connection, table, upsert, rows.rows)
        SqliteMerge.drop(connection)
        loaded
    }
  }

  private def insert(
      connection: Connection,
      target: String,
      table: BoundTable,
      rows: EncodedRows,
      batchSize: Int): Long = {
    val columns = table.columns.map(bound => (binder(bound, table.nulCharacter), bound.ordinal, bound.identifies)).toArray
    val operation = table.operation.fold(-1)(_.ordinal)
    val perStatement = math.max(1, math.min(batchSize, MaxParameters / table.incoming.size))
    val reader = new Reader(rows, table.columns.size + table.operation.size)

    def fill(statement: PreparedStatement, count: Int): Long = {
      var parameter = 1
      (1 to count).foreach { _ =>
        reader.next()
        val deletes = operation >= 0 && Operation.deletes(reader.row, operation)
        columns.foreach { case (bind, ordinal, identifies) =>
          if (reader.row.isNullAt(ordinal) || deletes && !identifies) statement.setObject(parameter, null)
          else bind(statement, parameter, reader.row, ordinal)
          parameter += 1
        }
        if (operation >= 0) {
          statement.setInt(parameter, if (deletes) 1 else 0)
          parameter += 1
        }
      }
      statement.executeLargeUpdate()
    }

    def run(statements: Long, count: Int): Long =
      if (statements == 0 || count == 0) 0L
      else
        Using.resource(connection.prepareStatement(sql(target, table.incoming, count))) { statement =>
          Iterator.range(0, statements.toInt).map(_ => fill(statement, count)).sum
        }

    run(rows.rows / perStatement, perStatement) + run(1, (rows.rows % perStatement).toInt)
  }

  private def sql(target: String, columns: Seq[String], rows: Int): String = {
    val row = columns.map(_ => "?").mkString("(", ",", ")")
    s"INSERT INTO $target (${columns.map(SqliteDialect.quote).mkString(", ")}) VALUES ${Iterator.fill(rows)(row).mkString(",")}"
  }

  private type Binder = (PreparedStatement, Int, UnsafeRow, Int) => Unit

  private def binder(bound: BoundColumn, nul: NulCharacter): Binder = bound.field.dataType match {
    case BooleanType => (s, i, row, c) => s.setInt(i, if (row.getBoolean(c)) 1 else 0)
    case ByteType    => (s, i, row, c) => s.setInt(i, row.getByte(c).toInt)
    case ShortType   => (s, i, row, c) => s.setInt(i, row.getShort(c).toInt)
    case IntegerType => (s, i, row, c) => s.setInt(i, row.getInt(c))
    case LongType    => (s, i, row, c) => s.setLong(i, row.getLong(c))
    case FloatType   => (s, i, row, c) => s.setDouble(i, row.getFloat(c).toDouble)
    case DoubleType  => (s, i, row, c) => s.setDouble(i, row.getDouble(c))
    case d: DecimalType =>
      (s, i, row, c) => s.setString(i, row.getDecimal(c, d.precision, d.scale).toJavaBigDecimal.toPlainString)
    case BinaryType       => (s, i, row, c) => s.setBytes(i, row.getBinary(c))
    case DateType         => (s, i, row, c) => s.setString(i, SqliteTime.date(row.getInt(c)))
    case TimestampType    => (s, i, row, c) => s.setString(i, SqliteTime.timestamp(row.getLong(c), "Z"))
    case TimestampNTZType => (s, i, row, c) => s.setString(i, SqliteTime.timestamp(row.getLong(c), ""))
    case nested if SqliteType.isNested(nested) =>
      val json = new JsonColumn(bound, nul)
      (s, i, row, _) => s.setString(i, json.text(row))
    case _ => (s, i, row, c) => s.setString(i, nul(row.getUTF8String(c).toString))
  }

  /** Reads what [[SqliteFormat]] wrote. */
  final private class Reader(rows: EncodedRows, columns: Int) {
    private val chunks = rows.chunks.iterator
    private var chunk = Array.emptyByteArray
    private var end = 0
    private var position = 0
    val row: UnsafeRow = UnsafeRows.pointer(columns)

    /** There is a next row. */
    def next(): Unit = {
      while (position == end) {
        val (bytes, length) = chunks.next()
        chunk = bytes
        end = length
        position = 0
      }
      val at = Platform.BYTE_ARRAY_OFFSET.toLong + position
      val length = java.lang.Long.reverseBytes(Platform.getLong(chunk, at)).toInt
      row.pointTo(chunk, at + 8, length)
      position += 8 + length
    }
  }

  private val MaxParameters = 32766
}
