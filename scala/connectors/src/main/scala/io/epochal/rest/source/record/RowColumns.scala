package io.epochal.rest.source.record

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.MapData
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.kit.engine.{ArrayRow, CsvRows, JsonRows, TextMap}

/** The columns of a task's rows: fields of records, and those that stand apart from them. */
final private[rest] class RowColumns(
    reading: RestReading,
    rules: RecordRules,
    params: Map[String, String] = Map.empty
) {
  import reading.schema

  private val apart = rules.apart.map(_.name).toSet
  private val unknown = rules.unknown.filter(schema.fieldNames.contains(_))
  private val corrupt = index(rules.corrupt)
  private val url = index(rules.answer.collectFirst { case AnswerColumn.Url => AnswerColumn.Url.name })
  private val status = index(rules.answer.collectFirst { case AnswerColumn.Status => AnswerColumn.Status.name })
  private val fetchedAt =
    index(rules.answer.collectFirst { case AnswerColumn.FetchedAt => AnswerColumn.FetchedAt.name })
  private val headers = index(rules.answer.collectFirst { case AnswerColumn.Headers => AnswerColumn.Headers.name })
  private val ofMember = index(rules.answer.collectFirst { case AnswerColumn.Params => AnswerColumn.Params.name })
  private val paramsMap = TextMap(params)
  private val ofOrigin = Array(url, status, fetchedAt, headers).filter(_ >= 0)
  private val required = schema.fields.indices.filterNot(schema(_).nullable).toArray
  private var shownUrl = ""
  private var shownText = UTF8String.EMPTY_UTF8
  private var shownHeaders = Map.empty[String, String]
  private var shownMap = TextMap(shownHeaders)

  /** Whether nothing at all of a record is needed. */
  val none: Boolean = schema.isEmpty && rules.prunable

  def json: JsonRows = new JsonRows(schema, reading.timeZone, apart, unknown)

  def csv: CsvRows = new CsvRows(schema, reading.timeZone, apart, unknown)

  /** The first column that must have a value, and has none; -1: all have. */
  def lacking(row: InternalRow): Int = {
    var i = 0
    while (i < required.length && !row.isNullAt(required(i))) i += 1
    if (i < required.length) required(i) else -1
  }

  /** A row without any value. */
  def empty: InternalRow = ArrayRow(new Array[Any](schema.length))

  def name(column: Int): String = schema(column).name

  def setCorrupt(row: InternalRow, record: Array[Byte]): Unit =
    if (corrupt >= 0) row.update(corrupt, UTF8String.fromBytes(record))

  /** Fills in what is known of the answer. */
  def setOrigin(row: InternalRow, from: Option[AnswerOrigin]): Unit = {
    if (ofMember >= 0) row.update(ofMember, paramsMap)
    if (ofOrigin.nonEmpty) from match {
      case None => ofOrigin.foreach(row.setNullAt)
      case Some(origin) =>
        if (url >= 0) row.update(url, text(origin.url))
        if (status >= 0) row.update(status, origin.status)
        if (fetchedAt >= 0) row.update(fetchedAt, origin.fetchedAt)
        if (headers >= 0) origin.headers.fold(row.setNullAt(headers))(found => row.update(headers, map(found)))
    }
  }

  private def text(url: String): UTF8String = {
    if (url ne shownUrl) {
      shownUrl = url
      shownText = UTF8String.fromString(url)
    }
    shownText
  }

  private def map(headers: Map[String, String]): MapData = {
    if (headers ne shownHeaders) {
      shownHeaders = headers
      shownMap = TextMap(headers)
    }
    shownMap
  }

  private def index(column: Option[String]): Int = column.fold(-1)(schema.fieldNames.indexOf(_))
}
