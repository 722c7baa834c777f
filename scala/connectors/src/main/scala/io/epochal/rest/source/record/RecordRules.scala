package io.epochal.rest.source.record

import org.apache.spark.sql.types.{DataType, IntegerType, MapType, StringType, StructField, TimestampType}

/** What of an answer becomes rows.
  *
  * @param unknown
  *   the column that takes the fields without a column
  * @param answer
  *   columns that tell of the answer itself
  * @param maxBytes
  *   the largest record; a larger one does not fit
  */
final case class RecordRules(
    format: BodyFormat,
    mode: RecordMode,
    unknown: Option[String],
    answer: Seq[AnswerColumn],
    maxBytes: Option[Long] = None
) {

  /** The column that takes a record which does not fit. */
  def corrupt: Option[String] = mode match {
    case RecordMode.Permissive(column) => Some(column)
    case _                             => None
  }

  /** Whether a column tells where an answer came from. */
  def tellsOrigin: Boolean = answer.exists(_ != AnswerColumn.Params)

  /** The columns that are no fields of a record, in the order in which they follow those that are. */
  def apart: Seq[StructField] =
    (corrupt ++ unknown).map(StructField(_, StringType)).toSeq ++
      answer.map(column => StructField(column.name, column.kind))

  /** Whether columns that a query does not use can be left out, and change neither which records give rows nor what is in
    * the other columns.
    */
  def prunable: Boolean = mode == RecordMode.FailFast && unknown.isEmpty && !byPosition

  private def byPosition: Boolean = format match {
    case csv: BodyFormat.Csv => !csv.header
    case _                   => false
  }
}

/** A column that tells where a record came from. */
sealed abstract class AnswerColumn(val name: String, val kind: DataType) extends Serializable

object AnswerColumn {

  /** The address of the page, without user info, query of the URL and parameters: they may be secret. */
  case object Url extends AnswerColumn("_url", StringType)

  /** The status of the answer. */
  case object Status extends AnswerColumn("_status", IntegerType)

  /** When the answer came. */
  case object FetchedAt extends AnswerColumn("_fetchedAt", TimestampType)

  /** The headers of the answer: names in lower case; those that may be secret are not among them. */
  case object Headers extends AnswerColumn("_headers", MapType(StringType, StringType))

  /** The row of `partitionParams` that the record was asked for by. */
  case object Params extends AnswerColumn("_params", MapType(StringType, StringType))

  val all: Seq[AnswerColumn] = Seq(Url, Status, FetchedAt, Headers, Params)
}
