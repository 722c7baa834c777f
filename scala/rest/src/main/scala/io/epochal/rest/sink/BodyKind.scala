package io.epochal.rest.sink

/** How the rows of a request are written in its body. */
sealed abstract class BodyKind(val name: String, val open: String, val between: String, val close: String)

object BodyKind {
  case object Object extends BodyKind("object", "", "", "")
  case object Array extends BodyKind("array", "[", ",", "]")
  case object Lines extends BodyKind("ndjson", "", "\n", "\n")

  val all: Seq[BodyKind] = Seq(Object, Array, Lines)
}
