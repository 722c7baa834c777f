package io.epochal.kit.record

import org.apache.spark.sql.types.{StringType, StructField}

/** What becomes of a record that does not fit the schema. */
sealed trait RecordMode extends Serializable

object RecordMode {

  /** The query fails. */
  case object FailFast extends RecordMode

  /** It gives no row, and is counted. */
  case object DropMalformed extends RecordMode

  /** It gives a row with what fits, and with all of it, as it came, in a column.
    *
    * @param column
    *   its name
    */
  final case class Permissive(column: String) extends RecordMode
}

/** How records become rows.
  *
  * @param unknown
  *   the column that takes the fields without a column
  * @param origin
  *   columns that say where a record came from
  * @param maxBytes
  *   the largest record; a larger one does not fit
  */
final case class RecordRules(
    format: RecordFormat,
    mode: RecordMode = RecordMode.FailFast,
    unknown: Option[String] = None,
    origin: Seq[StructField] = Nil,
    maxBytes: Option[Long] = None
) {

  /** The column that takes a record which does not fit. */
  def corrupt: Option[String] = mode match {
    case RecordMode.Permissive(column) => Some(column)
    case _                             => None
  }

  /** The columns that are no fields of a record, in the order in which they follow those that are. */
  def apart: Seq[StructField] = (corrupt ++ unknown).map(StructField(_, StringType)).toSeq ++ origin

  /** Whether columns that a query does not use can be left out, and change neither which records give rows nor what is in
    * the other columns.
    */
  def prunable: Boolean = mode == RecordMode.FailFast && unknown.isEmpty && !byPosition

  private def byPosition: Boolean = format match {
    case csv: RecordFormat.Csv => !csv.header
    case _                     => false
  }
}
