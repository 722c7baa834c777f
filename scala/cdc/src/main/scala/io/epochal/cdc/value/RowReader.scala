package io.epochal.cdc.value

import java.util.Arrays

import org.apache.spark.sql.types.{StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String
import org.postgresql.util.ByteConverter

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.database.PostgresColumn

/** Reads rows of a table from pgoutput's TupleData, as values of a query's columns.
  *
  * Columns are matched by name. Columns of the query that the table does not have are set to NULL. Texts share the given bytes,
  * which must not change while the row is in use. One thread at a time.
  *
  * @param table
  *   for messages
  * @param columns
  *   those that the server sends, in its order
  * @param schema
  *   the query's columns
  * @param whole
  *   the schema to declare for given columns
  * @throws EpochalException
  *   a column cannot be read as the query's type
  */
final class RowReader(
    table: String,
    columns: Seq[PostgresColumn],
    schema: StructType,
    whole: StructType => StructType = identity) {
  import RowReader._

  private val places = columns.map(column => schema.fieldNames.indexOf(column.name)).toArray

  /** Null for a column that is not in the query. */
  private val readers = columns
    .zip(places)
    .map { case (column, place) =>
      if (place < 0) null else ValueReader.of(table, column, schema(place).dataType)
    }
    .toArray
  private val missing = schema.indices.filterNot(places.contains(_)).toArray
  private val names = columns.map(column => UTF8String.fromString(column.name)).toArray

  private val isUnchanged = new Array[Boolean](columns.size)
  private var unchangedCount = 0

  /** The index of the column that is being read. */
  private var current = 0

  /** Whether all columns can be sent and read in binary form; otherwise the server must send the table as text. */
  val hasBinary: Boolean = columns.zip(readers).forall { case (column, reader) =>
    column.kind.isSent && (reader == null || reader.hasBinary)
  }

  /** Names of the columns whose values the last tuple left out, because an update did not change them; null if there are none. */
  def unchanged: Array[UTF8String] =
    if (unchangedCount == 0) null else names.indices.filter(isUnchanged(_)).map(names(_)).toArray

  /** Completes the last tuple with the values of the row before the update. A column whose value that row lacks, too, stays
    * unchanged: a value that is left out is never NULL.
    */
  def complete(row: Array[Any], before: Array[Any]): Unit = if (unchangedCount > 0)
    isUnchanged.indices.filter(i => isUnchanged(i) && before(places(i)) != null).foreach { i =>
      row(places(i)) = before(places(i))
      isUnchanged(i) = false
      unchangedCount -= 1
    }

  /** Reads a TupleData:
    *
    * {{{
    *   int16 columns, then for each a byte: n (NULL), u (unchanged, not sent), or t (text) or b (binary) with int32 length, value
    * }}}
    *
    * @return
    *   the offset behind it
    */
  def tuple(bytes: Array[Byte], offset: Int, row: Array[Any]): Int = try {
    val count = ByteConverter.int2(bytes, offset).toInt
    if (count != readers.length)
      throw new IllegalStateException(
        s"a row of $table has $count values, but ${readers.length} columns were announced")
    missing.foreach(row(_) = null)
    if (unchangedCount > 0) {
      Arrays.fill(isUnchanged, false)
      unchangedCount = 0
    }
    current = 0
    var at = offset + 2
    while (current < readers.length) {
      val kind = bytes(at)
      at += 1
      if (kind == 'n') set(row, null)
      else if (kind == 'u') {
        set(row, null)
        if (readers(current) != null) {
          isUnchanged(current) = true
          unchangedCount += 1
        }
      } else {
        val length = ByteConverter.int4(bytes, at)
        at += 4
        read(bytes, at, length, kind == 'b', row)
        at += length
      }
      current += 1
    }
    at
  } catch { case value: UnreadableValue => throw unreadable(value) }

  private def set(row: Array[Any], value: Any): Unit = if (places(current) >= 0) row(places(current)) = value

  private def read(bytes: Array[Byte], offset: Int, length: Int, isBinary: Boolean, row: Array[Any]): Unit = {
    val reader = readers(current)
    if (reader != null)
      row(places(current)) = if (isBinary) reader.binary(bytes, offset, length) else reader.text(bytes, offset, length)
  }

  private def unreadable(value: UnreadableValue): EpochalException = {
    val column = columns(current)
    val place = places(current)
    Conditions.ValueUnsupported(
      "table" -> table,
      "column" -> column.name,
      "columnType" -> column.kind.declaration,
      "sparkType" -> schema(place).dataType.sql,
      "reason" -> value.reason,
      "instruction" -> value.instruction.getOrElse(
        s"Read the column as STRING from a new checkpoint: {schema:${whole(withText(schema, columns, column.name)).toDDL}}"))
  }
}

private object RowReader {

  /** The query's columns of the table, one of them as STRING. */
  def withText(schema: StructType, columns: Seq[PostgresColumn], name: String): StructType = {
    val ofTable = schema.filter(field => columns.exists(_.name == field.name))
    StructType(ofTable.map(field => if (field.name == name) field.copy(dataType = StringType) else field))
  }
}
