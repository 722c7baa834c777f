package io.epochal.ingest

import org.apache.spark.sql.types.{MapType, StringType, StructField, StructType, TimestampType}

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}
import io.epochal.kit.record.{LoneRecordOptions, RecordRules}

/** What is made of records that are no plain text. */
final case class IngestRecords(lines: LoneRecordOptions) {

  /** @param declared
    *   the user's columns: where one has the name of a column that says where a record came from, it is a field of the record
    */
  def rules(declared: StructType): RecordRules =
    lines.rules.copy(origin = IngestRecords.Origin.filterNot(column => declared.fieldNames.contains(column.name)))
}

object IngestRecords {

  /** The columns that say where a record came from. */
  val Origin: Seq[StructField] = Seq(
    StructField("receivedAt", TimestampType),
    StructField("remote", StringType),
    StructField("stream", StringType),
    StructField("headers", MapType(StringType, StringType)))

  val Kind: OptionSpec[String] = OptionSpec(
    "format",
    OptionType.oneOf("text", "json", "csv"),
    "What a record is: text, in the column value; or JSON or CSV, with the schema's columns.",
    Some("text"))
  val Schema: OptionSpec[String] = LoneRecordOptions.Schema

  val options: Seq[OptionSpec[_]] = Kind +: LoneRecordOptions.options

  def read(values: OptionValues): Either[EpochalException, Option[IngestRecords]] = values(Kind) match {
    case "text" => LoneRecordOptions.unset(values).map(_ => None)
    case kind   => LoneRecordOptions.read(values, kind).map(records => Some(IngestRecords(records)))
  }
}
