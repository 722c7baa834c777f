package io.epochal.rest.sink

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.control.NonFatal

import org.apache.spark.sql.types.{StringType, StructField, StructType}

import io.epochal.kit.spark.memory.BinaryRow
import io.epochal.kit.spark.{ArrayRow, JsonRowWriter}

/** Encodes rows as they are sent, for one task. */
final private[rest] class JsonRowEncoder(shape: RequestShape, ignoreNullFields: Boolean) {

  /** The row encoded last, as it is sent. */
  val sentRow = new Utf8Bytes

  val whole: Utf8Bytes = if (shape.sendsWholeRows) sentRow else new Utf8Bytes

  /** The values of its key columns as a JSON object; empty without key columns. */
  val key = new Utf8Bytes

  private val wholeWriter = new JsonRowWriter(shape.schema, ignoreNullFields, whole)
  private val keySchema = StructType(shape.keys.map(_.field))
  private val keyWriter = new JsonRowWriter(keySchema, false, key)
  private val keyValues = new Array[Any](shape.keys.size)
  private val keyRow = ArrayRow(keyValues)
  private val changes = shape.changes.map(new ChangeReader(_))

  /** The value of `${_row}`. */
  private val record = if (changes.isEmpty) whole else new Utf8Bytes
  private val recordWriter = shape.changes.map(change => new RecordWriter(change.record, ignoreNullFields, record))
  private val needsWhole = changes.isEmpty && shape.row.contains(RowPiece.WholeRow)
  private val storePieces = new RowPieces(shape.row)
  private val deletePieces = new RowPieces(shape.changes.fold(Seq.empty[RowPiece])(_.delete))

  /** The columns that the row encoded last does not have. */
  private var absent = Set.empty[String]

  /** @param all
    *   whether `whole` is filled even if it is not sent
    * @return
    *   what the row does; nothing is to be sent if that is nothing
    * @throws UnsendableRow
    *   only `whole` is valid then
    */
  def encode(row: BinaryRow, all: Boolean): RowEffect =
    try {
      sentRow.truncate(0)
      whole.truncate(0)
      key.truncate(0)
      if (needsWhole || all) wholeWriter.write(row.internal)
      val change = changes.fold[RowEffect](RowEffect.Stores)(_.read(row))
      change match {
        case RowEffect.Stores =>
          absent = changes.fold(Set.empty[String])(_.unchangedColumns(row))
          if (!shape.sendsWholeRows) storePieces.put(row)
        case RowEffect.Deletes =>
          absent = shape.schema.fields.iterator.zipWithIndex.collect {
            case (field, i) if row.isNullAt(i) => field.name
          }.toSet
          deletePieces.put(row)
        case RowEffect.Ignores => ()
      }
      if (keyValues.nonEmpty && change != RowEffect.Ignores) encodeKey(row)
      change
    } catch {
      case unsendable: UnsendableRow => throw unsendable
      case NonFatal(error) => throw new UnsendableRow(s"it has no form in JSON (${error.getClass.getSimpleName})")
    }

  /** A template. A column that the row does not have is left out of `${_row}`; elsewhere it is an error. */
  final private class RowPieces(template: Seq[RowPiece]) {
    private val needsRecord = template.contains(RowPiece.WholeRow)
    private val pieces: Seq[BinaryRow => Unit] = template.map {
      case RowPiece.Literal(text) =>
        val bytes = text.getBytes(UTF_8)
        _ => sentRow.put(bytes, 0, bytes.length)
      case RowPiece.WholeRow => _ => sentRow.put(record, 0, record.length)
      case RowPiece.Column(column, isQuoted) =>
        val json = new ColumnJson(column)
        row => {
          if (absent(column.field.name))
            throw new UnsendableRow(s"the template needs '${column.field.name}', which this change does not have")
          if (isQuoted) json.putQuoted(row, sentRow) else json.put(row, sentRow)
        }
    }

    def put(row: BinaryRow): Unit = {
      if (needsRecord) recordWriter.foreach { writer =>
        record.truncate(0)
        writer.write(row, absent)
      }
      pieces.foreach(_(row))
    }
  }

  private def encodeKey(row: BinaryRow): Unit = {
    var i = 0
    while (i < keyValues.length) {
      val column = shape.keys(i)
      // Otherwise all rows without a key would share one.
      if (row.isNullAt(column.ordinal))
        throw new UnsendableRow(s"the key column '${column.field.name}' is NULL")
      keyValues(i) = row.get(column.ordinal, column.field.dataType)
      i += 1
    }
    keyWriter.write(keyRow)
  }
}

/** Finds where rows are sent, for one task. */
final private[rest] class RowTargets(shape: RequestShape) {
  private val url = new UrlValues(shape.url)
  private val deleteUrl = shape.changes.flatMap(_.deleteUrl).map(new UrlValues(_))
  private val createUrl = new UrlValues(shape.changes.fold(Seq.empty[NamedColumn])(_.createUrl))

  /** @throws UnsendableRow
    *   a column in the URL is NULL
    */
  def of(row: BinaryRow, change: RowEffect): RowTarget = deleteUrl.filter(_ => change == RowEffect.Deletes) match {
    case Some(columns) => RowTarget(deletes = true, columns.of(row), Nil)
    case None          => RowTarget(deletes = false, url.of(row), createUrl.of(row))
  }
}

final private class UrlValues(columns: Seq[NamedColumn]) {
  private val texts = columns.map(column => column -> new ColumnJson(column))

  def of(row: BinaryRow): Seq[String] = texts.map { case (column, json) =>
    if (row.isNullAt(column.ordinal)) throw new UnsendableRow(s"the URL needs '${column.field.name}', which is NULL")
    json.text(row)
  }
}

/** One column's values as JSON. Spark's generator writes only objects, so it writes objects of one field, and the name
  * is cut off.
  */
final private class ColumnJson(column: NamedColumn) {
  private val scratch = new Utf8Bytes
  private val cell = new Array[Any](1)
  private val row = ArrayRow(cell)
  private val writer =
    new JsonRowWriter(StructType(Seq(StructField("v", column.field.dataType))), false, scratch)
  private val head = """{"v":""".length
  private val isText = column.field.dataType.isInstanceOf[StringType]

  def put(from: BinaryRow, out: Utf8Bytes): Unit = {
    write(from)
    out.put(scratch, head, scratch.length - 1)
  }

  /** The value as the content of a JSON string. */
  def putQuoted(from: BinaryRow, out: Utf8Bytes): Unit = {
    if (from.isNullAt(column.ordinal))
      throw new UnsendableRow(s"'${column.field.name}' is NULL, and rowTemplate has it within a string")
    write(from)
    val quoteCount = quotes
    out.put(scratch, head + quoteCount, scratch.length - 1 - quoteCount)
  }

  def text(from: BinaryRow): String =
    if (isText) from.getUTF8String(column.ordinal).toString
    else {
      write(from)
      val quoteCount = quotes
      scratch.text(head + quoteCount, scratch.length - 1 - quoteCount)
    }

  /** The number of quotes before the value, and after it. */
  private def quotes: Int = if (scratch.text(head, head + 1) == "\"") 1 else 0

  private def write(from: BinaryRow): Unit = {
    scratch.truncate(0)
    cell(0) = from.get(column.ordinal, column.field.dataType)
    writer.write(row)
  }
}
