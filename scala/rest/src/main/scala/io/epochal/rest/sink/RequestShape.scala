package io.epochal.rest.sink

import org.apache.spark.sql.types._

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{NameList, OptionSpec}
import io.epochal.kit.sink.NewTypes

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

  type Check[A] = Either[EpochalException, A]

  def of(schema: StructType, settings: RestSinkSettings): Check[RequestShape] =
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
  def piece(option: OptionSpec[_], piece: TemplatePiece, schema: StructType): Check[RowPiece] = piece match {
    case TemplatePiece.Literal(text)               => Right(RowPiece.Literal(text))
    case TemplatePiece.Placeholder(RowName, false) => Right(RowPiece.WholeRow)
    case TemplatePiece.Placeholder(name, isQuoted) =>
      val column =
        if (isQuoted) scalar(option, name, schema, inTemplate) else find(option, name, schema, inTemplate)
      column.map(RowPiece.Column(_, isQuoted))
  }

  def inUrl(column: String): String = s"…{$column}…"
  private def inTemplate(column: String): String = s"…$${$column}…"

  /** A key column must be scalar: sortable, comparable, with a single text. */
  private def key(name: String, names: Seq[String], schema: StructType): Check[NamedColumn] =
    scalar(
      RestSinkOptions.KeyColumns,
      name,
      schema,
      right => NameList.render(names.map(one => if (one == name) right else one)))

  def scalar(option: OptionSpec[_], name: String, schema: StructType, whole: String => String): Check[NamedColumn] =
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
  def find(option: OptionSpec[_], name: String, schema: StructType, whole: String => String): Check[NamedColumn] = {
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

  def all[A, B](values: Seq[A])(check: A => Check[B]): Check[Seq[B]] = {
    val (wrong, right) = values.partitionMap(check)
    wrong.headOption.toLeft(right)
  }
}
