package io.epochal.kit.record

import org.apache.spark.sql.types.{StringType, StructField}

/** The rules by which records become rows.
  *
  * @param unknown
  *   the column for fields without a column
  * @param origin
  *   columns for a record's origin
  * @param maxBytes
  *   the largest record; a larger one does not fit
  * @param requireColumns
  *   whether a column without a field in any record of a task is an error
  * @param added
  *   fields that every record has
  */
final case class RecordRules(
    format: RecordFormat,
    mode: RecordMode = RecordMode.FailFast,
    unknown: Option[String] = None,
    origin: Seq[StructField] = Nil,
    maxBytes: Option[Long] = None,
    requireColumns: Boolean = false,
    added: Seq[StructField] = Nil
) {

  /** The column for a record that does not fit. */
  def corrupt: Option[String] = mode match {
    case RecordMode.Permissive(column) => Some(column)
    case _                             => None
  }

  /** Why a task that reads them must have an end; None: it need not. */
  def needsEnd: Option[String] =
    Option.when(requireColumns)("with {option:requireColumns=true} a task fails at its end, and it has none")

  /** The columns that are not fields of a record, in the order in which they follow the fields. */
  def apart: Seq[StructField] = (corrupt ++ unknown).map(StructField(_, StringType)).toSeq ++ origin

  /** Whether unused columns can be pruned without changing which records become rows or the values of the other columns. */
  def prunable: Boolean = mode == RecordMode.FailFast && unknown.isEmpty && !byPosition

  private def byPosition: Boolean = format match {
    case csv: RecordFormat.Csv => !csv.header
    case _                     => false
  }
}
