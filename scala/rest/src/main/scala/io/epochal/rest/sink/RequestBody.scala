package io.epochal.rest.sink

import java.nio.charset.StandardCharsets.UTF_8

import io.epochal.rest.sink.RestSinkOptions.ensure

/** A request's body around its rows: text, and placeholders for the idempotency key. */
final case class RequestBody(kind: BodyKind, before: Seq[TemplatePiece], after: Seq[TemplatePiece]) {

  def usesKey: Boolean = (before ++ after).exists(_.isInstanceOf[TemplatePiece.Placeholder])

  def head(key: String): Array[Byte] = fill(before, key)

  def tail(key: String): Array[Byte] = fill(after, key)

  val between: Array[Byte] = kind.between.getBytes(UTF_8)

  private def fill(pieces: Seq[TemplatePiece], key: String): Array[Byte] = pieces
    .map {
      case TemplatePiece.Literal(text)            => text
      case TemplatePiece.Placeholder(_, isQuoted) => if (isQuoted) key else s"\"$key\""
    }
    .mkString
    .getBytes(UTF_8)
}

object RequestBody {
  private val rows = TemplatePiece.Placeholder("_rows", quoted = false)

  /** @return
    *   the form that the template should have, or the body
    */
  def of(kind: BodyKind, template: Option[String]): Either[String, RequestBody] =
    for {
      pieces <- template.fold[Either[String, Seq[TemplatePiece]]](Right(Seq(rows)))(Template.parse)
      (before, from) = pieces.span(_ != rows)
      after = from.drop(1)
      _ <- ensure(from.nonEmpty && !after.contains(rows))("a text with ${_rows} in it, once and not in quotes")
      _ <- ensure((before ++ after).forall(isFixed))(
        "a text in which only ${_rows} and ${_key} stand for something; columns belong in {option:rowTemplate}")
    } yield RequestBody(kind, before :+ TemplatePiece.Literal(kind.open), TemplatePiece.Literal(kind.close) +: after)

  private def isFixed(piece: TemplatePiece): Boolean = piece match {
    case TemplatePiece.Literal(_)           => true
    case TemplatePiece.Placeholder(name, _) => name == "_key"
  }
}
