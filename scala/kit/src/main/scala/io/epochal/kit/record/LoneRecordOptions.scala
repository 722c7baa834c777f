package io.epochal.kit.record

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}

/** What a user asked for of records that stand alone, as lines and messages do, in JSON or CSV.
  *
  * @param rescued
  *   the column that takes fields without a column
  */
final private[epochal] case class LoneRecordOptions(
    format: RecordFormat.OfLines,
    mode: RecordMode,
    rescued: Option[String]) {

  def rules: RecordRules = RecordRules(format, mode, rescued)
}

private[epochal] object LoneRecordOptions {

  val Schema: OptionSpec[String] = OptionSpec(
    "schema",
    OptionType.string,
    "The columns of the records, as DDL, where none are given by .schema(…) (format=json or csv).",
    sample = Some("id INT, name STRING"))
  private val shared = new SharedRecordOptions("parseMode", standard = "PERMISSIVE", csv = "format=csv")
  import shared.Separator

  val options: Seq[OptionSpec[_]] = Seq(Schema, shared.Mode, shared.CorruptColumn, shared.RescuedColumn, Separator)

  /** @param kind
    *   json or csv
    */
  def read(values: OptionValues, kind: String): Either[EpochalException, LoneRecordOptions] =
    for {
      _ <- values.only(Separator)(kind == "csv", "format=csv")
      separator <- shared.separator(values)
    } yield {
      val format =
        if (kind == "csv") RecordFormat.Csv(header = false, separator, None) else RecordFormat.Ndjson(tolerant = true)
      LoneRecordOptions(format, shared.mode(values), values.get(shared.RescuedColumn))
    }

  /** Refuses all of them for records that are text. */
  def unset(values: OptionValues): Either[EpochalException, Unit] = {
    val parsed = options.filterNot(_ == Separator)
    for {
      _ <- values.only(parsed.find(values.isSet(_)).getOrElse(Schema))(holds = false, "format=json or format=csv")
      _ <- values.only(Separator)(holds = false, "format=csv")
    } yield ()
  }

  /** OPTION_REQUIRED: there are no columns. */
  def lacksSchema(format: String): EpochalException = Conditions.OptionRequired(
    "format" -> format,
    "option" -> Schema.name,
    "doc" -> Schema.doc.stripSuffix("."),
    "example" -> Schema.example)
}
