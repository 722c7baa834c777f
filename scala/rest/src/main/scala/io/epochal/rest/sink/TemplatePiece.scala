package io.epochal.rest.sink

sealed trait TemplatePiece

object TemplatePiece {
  final case class Literal(text: String) extends TemplatePiece

  /** `${name}`
    *
    * @param quoted
    *   whether it is within a JSON string, which takes the value's text instead of its JSON
    */
  final case class Placeholder(name: String, quoted: Boolean) extends TemplatePiece
}
