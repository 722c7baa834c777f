package io.epochal.rest.sink

import java.util.Locale

import scala.collection.mutable

import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types._

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.option.{OptionGroup, OptionSpec, OptionType, OptionValues}
import io.epochal.kit.record.ReplicaKey
import io.epochal.kit.spark.memory.BinaryRow
import io.epochal.kit.spark.{ArrayRow, JsonRowWriter}
import io.epochal.rest.http.{Endpoint, OptionList, RequestOptions}
import io.epochal.rest.sink.RestSinkOptions.{Format, group}

/** A URL of requests: its endpoint, with headers and secrets, and the template of its targets. */
final case class RequestUrl(endpoint: Endpoint, template: UrlTemplate)

object RequestUrl {
  type Headers = Seq[(String, String)]

  def of(
      values: OptionValues,
      spec: OptionSpec[String],
      url: String,
      headers: Headers): Either[EpochalException, RequestUrl] =
    UrlTemplate
      .of(url, values.family(RequestOptions.Params).toSeq.sortBy(_._1), headers)
      .map { case (endpoint, template) => RequestUrl(endpoint, template) }
      .left
      .map(group.invalid(spec, Redaction.url(url), _))
}

/** `mode=changes`: each row inserts, updates or deletes.
  *
  * @param operation
  *   column with the operation; None: `_change_type`
  * @param deletes
  *   where DELETE requests of one row go; None: rows that delete are in the body, by `deleteTemplate`
  * @param upsert
  *   None: the response to an update of a missing row is an error
  */
final case class ChangeSettings(
    operation: Option[String],
    deletes: Option[RequestUrl],
    deleteTemplate: Seq[TemplatePiece],
    upsert: Option[UpsertSettings])

/** A row that is missing is created by a second request.
  *
  * @param missing
  *   status of the response to the first one
  */
final case class UpsertSettings(missing: Int, create: RequestUrl)

/** The options of `mode=changes`. [[ChangeSettings]] is the result. */
object ChangeOptions extends OptionList {
  val Mode = option("mode", OptionType.oneOf("append", "changes"), Some("append"))(
    "append sends every row; changes also deletes, by opColumn, and leaves the columns of a change feed out of bodies.")
  val OpColumn = option("opColumn", OptionType.string, sample = Some("op"))(
    "Query column, not sent, with each row's operation: insert (i, c, r), update (u) or delete (d), in any case. Unset: _change_type.")
  val DeleteUrl = option("deleteUrl", OptionType.string, sample = Some("https://api.example.com/orders/{id}"))(
    "URL of DELETE requests, on the server of url; {name} is a column's value. A response 404 or 410 counts as success.")
  val DeleteTemplate = option("deleteTemplate", OptionType.string, sample = Some("""{"delete": {"_id": ${id}}}"""))(
    "In place of deleteUrl, JSON of a row that deletes, in the same body as the others; placeholders as in rowTemplate.")
  val UpsertStatus = option("upsertStatus", OptionType.int(400, 499), sample = Some("404"))(
    "Response status to a PUT (or PATCH, by method) of a missing row, which a POST to createUrl then creates. Unset: an error.")
  val CreateUrl = option("createUrl", OptionType.string, sample = Some("https://api.example.com/orders"))(
    "URL of that POST, on the server of url. Unset: url without its last segment.")

  private val LastSegment = "^([^?#]*?://[^?#]+?)/[^/?#]+(/?)((?:[?#].*)?)$".r

  def read(
      values: OptionValues,
      url: RequestUrl,
      headers: RequestUrl.Headers): Either[EpochalException, Option[ChangeSettings]] = {
    val changes = values(Mode) == "changes"
    val single = values(RestSinkOptions.BatchSize) == 1
    val updates = !values.isSet(RestSinkOptions.Method) || values(RestSinkOptions.Method) != "POST"
    def beside(spec: OptionSpec[String], text: String): Either[EpochalException, RequestUrl] =
      RequestUrl.of(values, spec, text, headers).flatMap { found =>
        ensure(found.endpoint.base == url.endpoint.base)(
          group.invalid(spec, Redaction.url(text), s"a URL on the server of {option:url}, ${url.endpoint.base}"))
          .map(_ => found)
      }
    def one[A](text: Option[A])(read: A => Either[EpochalException, RequestUrl]) =
      text.fold[Either[EpochalException, Option[RequestUrl]]](Right(None))(read(_).map(Some(_)))
    for {
      _ <- values.only(OpColumn, DeleteUrl, DeleteTemplate, UpsertStatus, CreateUrl)(changes, "{option:mode=changes}")
      _ <- values.only(CreateUrl)(values.isSet(UpsertStatus), UpsertStatus.reference)
      _ <- values.exclusive(
        "Rows are deleted by requests of their own, or in the body with the others: keep one of them.")(
        DeleteUrl,
        DeleteTemplate)
      _ <- ensure(!changes || values.isSet(DeleteUrl) || values.isSet(DeleteTemplate))(
        OptionGroup.missing(
          Format,
          DeleteUrl,
          "with {option:mode=changes} where rows are deleted, unless {option:deleteTemplate} is set"))
      _ <- values.consistent(single || !values.isSet(DeleteUrl) && !values.isSet(UpsertStatus))(
        s"${(if (values.isSet(DeleteUrl)) DeleteUrl else UpsertStatus).reference}, {option:batchSize=${values(RestSinkOptions.BatchSize)}}",
        "A request of several rows has one URL and one status: leave {option:batchSize} out, or set {option:deleteTemplate} alone."
      )
      _ <- values.consistent(updates || !values.isSet(UpsertStatus))(
        "{option:method=POST}, {option:upsertStatus}",
        "The first request updates: leave {option:method} out, or set {option:method=PATCH}.")
      deletes <- one(values.get(DeleteUrl))(beside(DeleteUrl, _))
      template <- Template
        .parse(values.get(DeleteTemplate).getOrElse(""))
        .left
        .map(group.invalid(DeleteTemplate, values.get(DeleteTemplate).getOrElse(""), _))
      create <- one(values.get(UpsertStatus))(_ => createUrl(values).flatMap(beside(CreateUrl, _)))
    } yield Option.when(changes)(
      ChangeSettings(
        values.get(OpColumn),
        deletes,
        template,
        values.get(UpsertStatus).zip(create).map { case (status, url) => UpsertSettings(status, url) }))
  }

  private def createUrl(values: OptionValues): Either[EpochalException, String] =
    values.get(CreateUrl).toRight(()).left.flatMap { _ =>
      values(RestSinkOptions.Url).trim match {
        case LastSegment(before, slash, query) => Right(s"$before$slash$query")
        case _ =>
          Left(
            OptionGroup
              .missing(Format, CreateUrl, "{option:url} has no last segment that could be left out to create a row"))
      }
    }
}

/** The effect of a row. */
sealed private[rest] trait RowChange

private[rest] object RowChange {
  case object Stores extends RowChange
  case object Deletes extends RowChange

  /** Nothing: it is the image before an update. */
  case object Ignores extends RowChange
}

/** A change feed's columns.
  *
  * @param operation
  *   of type STRING
  * @param unchanged
  *   the list of the columns that a row does not have
  * @param record
  *   the columns of bodies
  * @param entity
  *   the key columns; all changes of a row have the same values
  * @param keys
  *   what identifies a change: the key columns, its version and operation. Ascending values are the order of changes
  * @param delete
  *   a row that deletes, as sent in the body
  * @param deleteUrl
  *   None: rows that delete are sent in the body
  */
final private[rest] case class ChangeShape(
    operation: NamedColumn,
    unchanged: Option[NamedColumn],
    record: Seq[NamedColumn],
    entity: Seq[NamedColumn],
    keys: Seq[NamedColumn],
    delete: Seq[RowPiece],
    deleteUrl: Option[Seq[NamedColumn]],
    createUrl: Seq[NamedColumn])

/** Names are those of `epochal-cdc`, of Delta's change feed and of `epochal-jdbc`. */
private[rest] object ChangeShape {
  import RequestShape.{Checked, all, find, inUrl, piece, scalar}

  val ChangeType = "_change_type"
  val Version = "_commit_version"
  val Unchanged = "_unchanged_columns"
  private val Own = Set(ChangeType, Version, "_commit_timestamp", Unchanged)

  def of(changes: ChangeSettings, schema: StructType, entity: Seq[NamedColumn]): Checked[ChangeShape] = {
    val columns = schema.fields.toSeq.zipWithIndex.map { case (field, i) => NamedColumn(field, i) }
    def named(name: String) = columns.find(_.field.name == name)
    for {
      operation <- changes.operation match {
        case Some(name) => find(ChangeOptions.OpColumn, name, schema, identity)
        case None =>
          named(ChangeType).toRight(
            OptionGroup.missing(
              Format,
              ChangeOptions.OpColumn,
              s"with {option:mode=changes} the column that says what a row does, unless the query has $ChangeType"))
      }
      _ <- RestSinkOptions.ensure(operation.field.dataType.isInstanceOf[StringType])(
        group.invalid(
          ChangeOptions.OpColumn,
          s"${operation.field.name} ${operation.field.dataType.sql}",
          "a column of type STRING"))
      version = named(Version)
      _ <- RestSinkOptions.ensure(entity.isEmpty || version.nonEmpty)(
        group.conflict(
          "{option:keyColumns}, {option:mode=changes}",
          s"The changes of a row have the same {option:keyColumns}, and differ in $Version, which the query lacks: add that column, or leave {option:keyColumns} out."
        ))
      ordered <- all(version.filter(_ => entity.nonEmpty).toSeq)(column =>
        scalar(RestSinkOptions.KeyColumns, column.field.name, schema, identity))
      delete <- all(changes.deleteTemplate)(piece(ChangeOptions.DeleteTemplate, _, schema))
      deleteUrl <- all(changes.deletes.toSeq.flatMap(_.template.columns))(
        scalar(ChangeOptions.DeleteUrl, _, schema, inUrl))
      createUrl <- all(changes.upsert.toSeq.flatMap(_.create.template.columns))(
        scalar(ChangeOptions.CreateUrl, _, schema, inUrl))
      _ <- ReplicaKey.refusal((entity ++ deleteUrl).map(_.field), usesImages = false).toLeft(())
    } yield ChangeShape(
      operation,
      named(Unchanged).filter(_.field.dataType match {
        case ArrayType(_: StringType, _) => true
        case _                           => false
      }),
      columns.filterNot(column => column == operation || Own(column.field.name)),
      entity,
      if (entity.isEmpty) Nil else (entity ++ ordered :+ operation).distinct,
      delete,
      changes.deletes.map(_ => deleteUrl),
      createUrl
    )
  }
}

/** Reads what a row does, for one task. */
final private[rest] class ChangeReader(shape: ChangeShape) {
  import ChangeReader._
  import shape.operation

  /** @throws UnsendableRow
    *   the operation is NULL or unknown
    */
  def read(row: BinaryRow): RowChange = {
    val word = if (row.isNullAt(operation.ordinal)) None else Some(row.getUTF8String(operation.ordinal).toString)
    word.flatMap(text => Words.get(text.toLowerCase(Locale.ROOT))).getOrElse {
      val found = word.fold("NULL")(text => s"'${text.take(LongestShown)}'")
      throw new UnsendableRow(
        s"its '${operation.field.name}' is $found, not insert (i, c, r), update (u) or delete (d)")
    }
  }

  /** The columns that the row does not have: it is an update that did not change them. */
  def unchanged(row: BinaryRow): Set[String] =
    shape.unchanged.filterNot(column => row.isNullAt(column.ordinal)).fold(Set.empty[String]) { column =>
      row.get(column.ordinal, column.field.dataType) match {
        case names: ArrayData => (0 until names.numElements()).map(names.getUTF8String(_).toString).toSet
        case _                => Set.empty
      }
    }
}

private object ChangeReader {
  import RowChange._

  /** The short words are Debezium's. */
  private val Words: Map[String, RowChange] =
    (Seq("insert", "update", "update_postimage", "i", "c", "r", "u").map(_ -> Stores) ++
      Seq("delete" -> Deletes, "d" -> Deletes, "update_preimage" -> Ignores)).toMap

  private val LongestShown = 40
}

/** Writes the columns of a change that the row has, for one task. */
final private[rest] class RecordWriter(columns: Seq[NamedColumn], ignoreNullFields: Boolean, out: Utf8Bytes) {
  private val writers = mutable.HashMap.empty[Set[String], BinaryRow => Unit]

  def write(row: BinaryRow, without: Set[String]): Unit = {
    if (writers.size > RecordWriter.Remembered) writers.clear()
    writers.getOrElseUpdate(without, writer(columns.filterNot(column => without(column.field.name))))(row)
  }

  private def writer(kept: Seq[NamedColumn]): BinaryRow => Unit = {
    val values = new Array[Any](kept.size)
    val record = ArrayRow(values)
    val json = new JsonRowWriter(StructType(kept.map(_.field)), ignoreNullFields, out)
    row => {
      kept.iterator.zipWithIndex.foreach { case (column, i) =>
        values(i) = row.get(column.ordinal, column.field.dataType)
      }
      json.write(record)
    }
  }
}

private object RecordWriter {

  /** Combinations of absent columns; few tables have several large ones. */
  private val Remembered = 64
}
