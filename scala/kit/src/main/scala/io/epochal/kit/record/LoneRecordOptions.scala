package io.epochal.kit.record

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionGroup, OptionList, OptionSpec, OptionType, OptionValues}

/** The options of standalone records, such as lines and messages, in JSON or CSV. */
private[epochal] object LoneRecordOptions extends OptionList {

  val Schema = option("schema", OptionType.string, sample = Some("id INT, name STRING"))(
    "The records' schema as DDL, unless given by .schema(…) (format=json or csv).")
  private val sharedOptions = new SharedRecordOptions("parseMode", standard = "PERMISSIVE", csv = "format=csv")
  import sharedOptions.{RequireColumns, Separator}

  override def all: Seq[OptionSpec[_]] = super.all ++ sharedOptions.all

  /** Parses the rules.
    *
    * @param kind
    *   json or csv
    */
  def read(values: OptionValues, kind: String): Either[EpochalException, RecordRules] =
    for {
      _ <- values.only(Separator)(kind == "csv", "{option:format=csv}")
      _ <- values.only(RequireColumns)(kind == "json", "{option:format=json}")
      separator <- sharedOptions.separator(values)
    } yield {
      val format =
        if (kind == "csv") RecordFormat.Csv(header = false, separator, None) else RecordFormat.Ndjson(tolerant = true)
      RecordRules(
        format,
        sharedOptions.mode(values),
        values.get(sharedOptions.RescuedColumn),
        requireColumns = values(RequireColumns))
    }

  /** Rejects all of them for text records. */
  def unset(values: OptionValues): Either[EpochalException, Unit] =
    values
      .only(all.filterNot(_ == Separator): _*)(holds = false, "{option:format=json} or {option:format=csv}")
      .flatMap(_ => values.only(Separator)(holds = false, "{option:format=csv}"))

  /** OPTION_REQUIRED: no columns are given. */
  def lacksSchema(format: String): EpochalException =
    OptionGroup.missing(format, Schema, Schema.doc.stripSuffix("."))
}
