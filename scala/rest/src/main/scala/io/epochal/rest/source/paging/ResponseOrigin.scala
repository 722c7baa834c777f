package io.epochal.rest.source.paging

import org.apache.spark.sql.types.{IntegerType, MapType, StringType, StructField, TimestampType}
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.kit.record.{RecordOrigin, RecordRules}
import io.epochal.kit.spark.TextMap

/** Where a response came from.
  *
  * @param url
  *   without anything that may be secret
  * @param fetchedAt
  *   when it came: microseconds since 1970
  * @param headers
  *   only where a column wants them
  */
final private[rest] case class ResponseOrigin(
    url: String,
    status: Int,
    fetchedAt: Long,
    headers: Option[Map[String, String]]
) extends RecordOrigin {
  import OriginColumns._

  override def value(column: String): Any = column match {
    case Url.name       => UTF8String.fromString(url)
    case Status.name    => status
    case FetchedAt.name => fetchedAt
    case Headers.name   => headers.map(TextMap(_)).orNull
    case _              => null
  }
}

/** Columns that say where a record came from. */
private[rest] object OriginColumns {

  /** The address of the page, without user info, query of the URL and parameters: they may be secret. */
  val Url: StructField = StructField("_url", StringType)

  /** The status of the response. */
  val Status: StructField = StructField("_status", IntegerType)

  /** When the response came. */
  val FetchedAt: StructField = StructField("_fetchedAt", TimestampType)

  /** The headers of the response: names in lower case; those that may be secret are not among them. */
  val Headers: StructField = StructField("_headers", MapType(StringType, StringType))

  /** The row of `partitionParams` that the record was asked for by. */
  val Params: StructField = StructField("_params", MapType(StringType, StringType))

  val all: Seq[StructField] = Seq(Url, Status, FetchedAt, Headers, Params)

  /** Whether a column tells where a response came from. */
  def ofResponse(rules: RecordRules): Boolean = rules.origin.exists(_ != Params)
}
