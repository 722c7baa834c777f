package io.epochal.kit.record

/** The handling of records that do not fit the schema. */
sealed trait RecordMode extends Serializable

object RecordMode {
  case object FailFast extends RecordMode

  /** The record becomes no row, and is counted. */
  case object DropMalformed extends RecordMode

  /** The record becomes a row with the values that fit, and with the whole record, unchanged, in a column.
    *
    * @param column
    *   the column's name
    */
  final case class Permissive(column: String) extends RecordMode
}
