package io.epochal.rest.sink

import java.net.URLDecoder
import java.nio.charset.StandardCharsets.UTF_8

import com.fasterxml.jackson.core.io.JsonStringEncoder
import org.apache.spark.sql.types._

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{NameList, OptionSpec}
import io.epochal.kit.sink.NewTypes
import io.epochal.rest.http.Endpoint
import io.epochal.rest.sink.RestSinkOptions.ensure

/** A part of a template. */
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

/** JSON with placeholders `${name}` for values: `{"id": ${id}, "label": "order ${id}"}`. */
object Template {
  import TemplatePiece._

  /** A text as a JSON string. */
  def quoted(text: String): String = s""""${new String(JsonStringEncoder.getInstance.quoteAsString(text))}""""

  /** @return
    *   the form that the text should have, or its parts in order
    */
  def parse(text: String): Either[String, Seq[TemplatePiece]] = {
    val pieces = Vector.newBuilder[TemplatePiece]
    val literal = new StringBuilder
    var quoted = false
    var problem = Option.empty[String]
    var i = 0
    def close(): Unit = if (literal.nonEmpty) {
      pieces += Literal(literal.toString)
      literal.clear()
    }
    while (i < text.length && problem.isEmpty)
      if (text.startsWith("${", i)) {
        val end = text.indexOf('}', i)
        if (end <= i + 2)
          problem = Some("a text in which every dollar sign before a brace has a name and a closing brace")
        else {
          close()
          pieces += Placeholder(text.substring(i + 2, end), quoted)
          i = end + 1
        }
      } else {
        val escape = quoted && text.charAt(i) == '\\' && i + 1 < text.length
        if (text.charAt(i) == '"') quoted = !quoted
        val length = if (escape) 2 else 1
        literal.append(text.substring(i, i + length))
        i += length
      }
    close()
    problem
      .orElse(Option.when(quoted)("a text in which every double quote has its second one"))
      .toLeft(pieces.result())
  }
}

/** How the rows of a request are written in its body. */
sealed abstract class BodyKind(val name: String, val open: String, val between: String, val close: String)

object BodyKind {
  case object Object extends BodyKind("object", "", "", "")
  case object Array extends BodyKind("array", "[", ",", "]")
  case object Lines extends BodyKind("ndjson", "", "\n", "\n")

  val all: Seq[BodyKind] = Seq(Object, Array, Lines)
}

/** A request's body around its rows: text, and placeholders for the idempotency key. */
final case class RequestBody(kind: BodyKind, before: Seq[TemplatePiece], after: Seq[TemplatePiece]) {

  def usesKey: Boolean = (before ++ after).exists(_.isInstanceOf[TemplatePiece.Placeholder])

  def head(key: String): Array[Byte] = filled(before, key)

  def tail(key: String): Array[Byte] = filled(after, key)

  val between: Array[Byte] = kind.between.getBytes(UTF_8)

  private def filled(pieces: Seq[TemplatePiece], key: String): Array[Byte] = pieces
    .map {
      case TemplatePiece.Literal(text)          => text
      case TemplatePiece.Placeholder(_, quoted) => if (quoted) key else s"\"$key\""
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

/** The target of requests (path and query), with columns' values in place of `{name}`.
  *
  * @param literals
  *   the encoded texts before, between and after the columns: one more than columns
  * @param columns
  *   as the user spelled them
  */
final case class UrlTemplate(literals: Seq[String], columns: Seq[String]) {

  /** @param values
    *   of the columns, unencoded; they are encoded here (RFC 3986), so that a value cannot change the URL's structure
    */
  def target(values: Seq[String]): String = {
    val out = new StringBuilder(literals.head)
    values.zip(literals.tail).foreach { case (value, next) => out.append(UrlTemplate.encode(value)).append(next) }
    out.toString
  }
}

object UrlTemplate {
  private val Name = "\\{([^{}]+)\\}".r
  private val EncodedName = "%7B(.+?)%7D".r
  private val Authority = "^[^/?#]*://[^/?#]*".r

  /** @return
    *   the form that the URL should have, or the endpoint and the template of targets
    */
  def of(
      url: String,
      params: Seq[(String, String)],
      headers: Seq[(String, String)]
  ): Either[String, (Endpoint, UrlTemplate)] = {
    def replaced(by: String => String): String =
      Name.replaceAllIn(url, found => java.util.regex.Matcher.quoteReplacement(by(Endpoint.encode(found.group(1)))))
    for {
      _ <- ensure(!Authority.findFirstIn(url.trim).exists(_.contains("{")))("a URL with columns after its host only")
      // Messages show the URL as /orders/:id.
      shown <- Endpoint.of(replaced(name => s":$name"), params, headers)
      encoded <- Endpoint.of(replaced(name => s"%7B$name%7D"), params, headers)
    } yield (shown, parse(encoded.target("")))
  }

  /** Encodes a value; dots alone would be path segments of relative references. */
  private def encode(value: String): String =
    if (value == "." || value == "..") value.replace(".", "%2E") else Endpoint.encode(value)

  private def parse(target: String): UrlTemplate = {
    val found = EncodedName.findAllMatchIn(target).toVector
    val starts = 0 +: found.map(_.end)
    val ends = found.map(_.start) :+ target.length
    UrlTemplate(
      starts.zip(ends).map { case (from, until) => target.substring(from, until) },
      found.map(m => URLDecoder.decode(m.group(1), UTF_8)))
  }
}

/** A column of the query that an option refers to.
  *
  * @param ordinal
  *   position in the query's rows
  */
final private[rest] case class NamedColumn(field: StructField, ordinal: Int)

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

/** The options, resolved against the query's columns.
  *
  * @param keys
  *   what idempotency keys are made of, and rows are sorted by
  */
final private[rest] case class RequestShape(
    schema: StructType,
    url: Seq[NamedColumn],
    row: Seq[RowPiece],
    keys: Seq[NamedColumn],
    changes: Option[ChangeShape] = None
) {

  /** Whether exactly the whole row is sent. */
  def sendsWholeRows: Boolean = changes.isEmpty && row == Seq(RowPiece.WholeRow)

  /** The key columns whose values send rows to the same task. */
  def entity: Seq[NamedColumn] = changes.fold(keys)(_.entity)
}

private[rest] object RequestShape {
  val RowName = "_row"
  val WholeRow: String = "${" + RowName + "}"

  type Checked[A] = Either[EpochalException, A]

  def of(schema: StructType, settings: RestSinkSettings): Checked[RequestShape] =
    for {
      _ <- RestSinkOptions.ensure(schema.nonEmpty)(
        RestSinkOptions.group.invalid(RestSinkOptions.RowTemplate, "", "a row of one column or more"))
      _ <- NewTypes.inexactInJson(schema).map(NewTypes.unsupported(_, "JSON")).toLeft(())
      url <- all(settings.url.columns)(scalar(RestSinkOptions.Url, _, schema, inUrl))
      row <- all(settings.rowTemplate)(piece(RestSinkOptions.RowTemplate, _, schema))
      keys <- all(settings.keyColumns)(key(_, settings.keyColumns, schema))
      changes <- all(settings.changes.toSeq)(ChangeShape.of(_, schema, keys.distinct))
    } yield RequestShape(schema, url, row, changes.headOption.fold(keys.distinct)(_.keys), changes.headOption)

  /** @param option
    *   whose template has the piece
    */
  def piece(option: OptionSpec[_], piece: TemplatePiece, schema: StructType): Checked[RowPiece] = piece match {
    case TemplatePiece.Literal(text)               => Right(RowPiece.Literal(text))
    case TemplatePiece.Placeholder(RowName, false) => Right(RowPiece.WholeRow)
    case TemplatePiece.Placeholder(name, quoted) =>
      val column =
        if (quoted) scalar(option, name, schema, inTemplate) else find(option, name, schema, inTemplate)
      column.map(RowPiece.Column(_, quoted))
  }

  def inUrl(column: String): String = s"…{$column}…"
  private def inTemplate(column: String): String = s"…$${$column}…"

  /** A key column must be scalar: sortable, comparable, with a single text. */
  private def key(name: String, names: Seq[String], schema: StructType): Checked[NamedColumn] =
    scalar(
      RestSinkOptions.KeyColumns,
      name,
      schema,
      right => NameList.render(names.map(one => if (one == name) right else one)))

  def scalar(option: OptionSpec[_], name: String, schema: StructType, whole: String => String): Checked[NamedColumn] =
    find(option, name, schema, whole).flatMap { column =>
      column.field.dataType match {
        case _: StructType | _: ArrayType | _: MapType | BinaryType | VariantType | CalendarIntervalType | NullType =>
          Left(
            RestSinkOptions.group.invalid(
              option,
              s"${column.field.name} ${column.field.dataType.sql}",
              "a column with a single value: a text, a number, a boolean, a date or a time"))
        case _ => Right(column)
      }
    }

  /** By exact name, else by the only one that differs in case. */
  def find(option: OptionSpec[_], name: String, schema: StructType, whole: String => String): Checked[NamedColumn] = {
    val exact = schema.fieldNames.indexOf(name)
    val similar = schema.fieldNames.indices.filter(schema.fieldNames(_).equalsIgnoreCase(name))
    Option
      .when(exact >= 0)(exact)
      .orElse(Option.when(similar.sizeIs == 1)(similar.head))
      .map(i => NamedColumn(schema(i), i))
      .toRight {
        val names = schema.fieldNames.toSeq
        RestSinkOptions.group.invalid(
          option,
          name,
          s"one of the query's columns ${NameList.shown(names)}",
          names,
          whole)
      }
  }

  def all[A, B](values: Seq[A])(check: A => Checked[B]): Checked[Seq[B]] = {
    val (wrong, right) = values.partitionMap(check)
    wrong.headOption.toLeft(right)
  }
}
