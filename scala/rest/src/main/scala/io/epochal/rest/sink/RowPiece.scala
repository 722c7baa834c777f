package io.epochal.rest.sink

/** A part of a row as sent. */
sealed private[rest] trait RowPiece

private[rest] object RowPiece {
  final case class Literal(text: String) extends RowPiece

  /** @param quoted
    *   within a JSON string
    */
  final case class Column(column: NamedColumn, quoted: Boolean) extends RowPiece
  case object WholeRow extends RowPiece
}
