package io.epochal.rest.sink

import java.nio.charset.StandardCharsets.UTF_8

/** How the rows of a request stand in its body. */
sealed abstract class BodyKind(val name: String, val open: String, val between: String, val close: String)

object BodyKind {
  case object Object extends BodyKind("object", "", "", "")
  case object Array extends BodyKind("array", "[", ",", "]")
  case object Lines extends BodyKind("ndjson", "", "\n", "\n")

  val all: Seq[BodyKind] = Seq(Object, Array, Lines)
}

/** A request's body, but for its rows.
  *
  * @param before
  *   what stands before the rows; a None in it is the idempotency key's place
  * @param usesKey
  *   whether the key stands in the body
  */
final case class RequestBody(kind: BodyKind, before: Seq[Option[String]], after: Seq[Option[String]]) {

  def usesKey: Boolean = (before ++ after).contains(None)

  def head(key: String): Array[Byte] = filled(before, key)

  def tail(key: String): Array[Byte] = filled(after, key)

  val between: Array[Byte] = kind.between.getBytes(UTF_8)

  private def filled(pieces: Seq[Option[String]], key: String): Array[Byte] =
    pieces.map(_.getOrElse(key)).mkString.getBytes(UTF_8)
}

object RequestBody {
  val RowsName = "_rows"
  val KeyName = "_key"

  /** @return
    *   what is wrong with the template, or the body
    */
  def of(kind: BodyKind, template: Option[String]): Either[String, RequestBody] =
    template.fold[Either[String, Seq[TemplatePiece]]](Right(Seq(rows)))(Template.parse).flatMap { pieces =>
      val (before, from) = pieces.span(_ != rows)
      val after = from.drop(1)
      for {
        _ <- Either.cond(
          from.nonEmpty && !after.contains(rows),
          (),
          "a text with ${_rows} in it, once and not in quotes")
        first <- fixed(before)
        last <- fixed(after)
      } yield RequestBody(kind, first :+ Some(kind.open), Some(kind.close) +: last)
    }

  private val rows = TemplatePiece.Placeholder(RowsName, quoted = false)

  private def fixed(pieces: Seq[TemplatePiece]): Either[String, Seq[Option[String]]] = {
    val texts = pieces.map {
      case TemplatePiece.Literal(text)               => Some(Seq(Some(text)))
      case TemplatePiece.Placeholder(KeyName, true)  => Some(Seq(None))
      case TemplatePiece.Placeholder(KeyName, false) => Some(Seq(Some("\""), None, Some("\"")))
      case _                                         => None
    }
    Either.cond(
      texts.forall(_.isDefined),
      texts.flatten.flatten,
      "a text in which only ${_rows} and ${_key} stand for something; columns belong in rowTemplate")
  }
}
