package io.epochal.kit.record

import org.apache.spark.sql.catalyst.InternalRow

import io.epochal.core.error.Conditions
import io.epochal.kit.spark.{CsvLayout, Examined}

/** Steps through the lines of a piece in CSV.
  *
  * @throws EpochalException
  *   CSV_HEADER_MISMATCH, once a row is asked for and the header lacks one of its columns
  */
final private[record] class CsvRecords(piece: Piece, format: RecordFormat.Csv, place: String) extends LineRecords {

  private val line = format.split(piece)

  /** The names of the fields, where a header gives them. */
  val header: Option[Seq[String]] =
    Option.when(format.header && line.next())((0 until line.size).map(field => String.valueOf(line.text(field))))
  private var layout: CsvLayout = _

  override def start: Int = line.start

  override def next(): Boolean = line.next()

  override def pass(): Unit = ()

  override def row(columns: RecordColumns): InternalRow = columns.csv.row(line, layoutOf(columns))

  override def examine(columns: RecordColumns): Examined = columns.csv.examine(line, layoutOf(columns))

  override def bytes: Array[Byte] = line.bytes

  override def size: Int = line.length

  override def finish(): Unit = ()

  private def layoutOf(columns: RecordColumns): CsvLayout = {
    if (layout == null)
      layout = columns.csv
        .layout(header)
        .fold(reason => throw Conditions.CsvHeaderMismatch("url" -> place, "reason" -> reason), identity)
    layout
  }
}
