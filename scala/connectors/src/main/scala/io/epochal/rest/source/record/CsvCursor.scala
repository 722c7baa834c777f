package io.epochal.rest.source.record

import org.apache.spark.sql.catalyst.InternalRow

import io.epochal.core.error.Conditions
import io.epochal.kit.engine.{CsvLayout, CsvRows, Examined}
import io.epochal.rest.http.request.Endpoint

/** Steps through the lines of an answer in CSV.
  *
  * @throws EpochalException
  *   CSV_HEADER_MISMATCH, once a row is asked for and the header lacks one of its columns
  */
final private[rest] class CsvCursor(body: Utf8Body, format: BodyFormat.Csv, endpoint: Endpoint)
    extends LineRecords[CsvRows] {

  private val line = format.split(body)

  /** The names of the fields, where a header gives them. */
  val header: Option[Seq[String]] =
    Option.when(format.header && line.next())((0 until line.size).map(field => String.valueOf(line.text(field))))
  private var layout: CsvLayout = _

  override def start: Int = line.start

  override def next(): Boolean = line.next()

  override def pass(): Unit = ()

  override def row(rows: CsvRows): InternalRow = {
    if (layout == null) lay(rows)
    rows.row(line, layout)
  }

  override def examine(rows: CsvRows): Examined = {
    if (layout == null) lay(rows)
    rows.examine(line, layout)
  }

  override def bytes: Array[Byte] = line.bytes

  override def size: Int = line.length

  override def finish(): Unit = ()

  private def lay(rows: CsvRows): Unit = layout = rows
    .layout(header)
    .fold(reason => throw Conditions.CsvHeaderMismatch("url" -> endpoint, "reason" -> reason), identity)
}
