package io.epochal.rest.source.record

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
