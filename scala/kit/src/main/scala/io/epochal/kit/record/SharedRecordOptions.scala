package io.epochal.kit.record

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionGroup, OptionList, OptionSpec, OptionType, OptionValues}

/** The record options that formats share: the mode for records that do not fit the schema, and the field separator of CSV.
  *
  * @param modeName
  *   the format's name for the mode
  * @param standard
  *   the default mode
  * @param csv
  *   the option, with its value, that selects CSV
  */
final private[epochal] class SharedRecordOptions(modeName: String, standard: String, csv: String) extends OptionList {

  val Mode = option(modeName, OptionType.oneOf("FAILFAST", "PERMISSIVE", "DROPMALFORMED"), Some(standard))(
    "A record that does not fit the schema fails the query (FAILFAST), goes into a column of its own (PERMISSIVE), or is dropped (DROPMALFORMED).")
  val CorruptColumn = option("columnNameOfCorruptRecord", OptionType.string, Some("_corrupt_record"))(
    s"STRING column for unparsable records ($modeName=PERMISSIVE); added if the schema lacks it.")
  val RescuedColumn = option("rescuedDataColumn", OptionType.string, sample = Some("_rescued_data"))(
    "STRING column for fields that the schema lacks, as a JSON object; added if missing. Unset: they are ignored.")
  val RequireColumns = option("requireColumns", OptionType.boolean, Some(false))(
    "Whether a column, or a field of its structs, that is in none of the records that a task reads fails the query; if not, it is NULL, and logged. Lines of CSV have all fields. Not for continuous and real-time queries.")
  val Separator = option("sep", OptionType.string, Some(","))(s"Field separator of CSV ($csv).")

  def mode(values: OptionValues): RecordMode = values(Mode) match {
    case "PERMISSIVE"    => RecordMode.Permissive(values(CorruptColumn))
    case "DROPMALFORMED" => RecordMode.DropMalformed
    case _               => RecordMode.FailFast
  }

  def separator(values: OptionValues): Either[EpochalException, Char] = values(Separator) match {
    case "\\t"                                                                   => Right('\t')
    case text if text.length == 1 && text.head < 128 && !"\"\r\n".contains(text) => Right(text.head)
    case other => Left(values.group.invalid(Separator, other, "one ASCII character, and no quote or line break"))
  }
}

/** The options of standalone records, such as lines and messages, in JSON or CSV. */
private[epochal] object LoneRecordOptions extends OptionList {

  val Schema = option("schema", OptionType.string, sample = Some("id INT, name STRING"))(
    "The records' schema as DDL, unless given by .schema(…) (format=json or csv).")
  private val shared =
    new SharedRecordOptions("parseMode", standard = "PERMISSIVE", csv = "format=csv")
  import shared.{RequireColumns, Separator}

  override def all: Seq[OptionSpec[_]] = super.all ++ shared.all

  /** Parses the rules.
    *
    * @param kind
    *   json or csv
    */
  def read(values: OptionValues, kind: String): Either[EpochalException, RecordRules] =
    for {
      _ <- values.only(Separator)(kind == "csv", "{option:format=csv}")
      _ <- values.only(RequireColumns)(kind == "json", "{option:format=json}")
      separator <- shared.separator(values)
    } yield {
      val format =
        if (kind == "csv") RecordFormat.Csv(header = false, separator, None) else RecordFormat.Ndjson(tolerant = true)
      RecordRules(
        format,
        shared.mode(values),
        values.get(shared.RescuedColumn),
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
