package io.epochal.kit.record

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}

/** The record options that formats share: the mode for records that do not fit the schema, and the field separator of CSV.
  *
  * @param modeName
  *   the format's name for the mode
  * @param standard
  *   the default mode
  * @param csv
  *   the option, with its value, that selects CSV
  */
final private[epochal] class SharedRecordOptions(modeName: String, standard: String, csv: String) {

  val Mode: OptionSpec[String] = OptionSpec(
    modeName,
    OptionType.oneOf("FAILFAST", "PERMISSIVE", "DROPMALFORMED"),
    "A record that does not fit the schema fails the query (FAILFAST), goes into a column of its own (PERMISSIVE), or is dropped (DROPMALFORMED).",
    Some(standard)
  )
  val CorruptColumn: OptionSpec[String] = OptionSpec(
    "columnNameOfCorruptRecord",
    OptionType.string,
    s"STRING column for unparsable records ($modeName=PERMISSIVE); added if the schema lacks it.",
    Some("_corrupt_record")
  )
  val RescuedColumn: OptionSpec[String] = OptionSpec(
    "rescuedDataColumn",
    OptionType.string,
    "STRING column for fields that the schema lacks, as a JSON object; added if missing. Unset: they are ignored.",
    sample = Some("_rescued_data"))
  val Separator: OptionSpec[String] =
    OptionSpec("sep", OptionType.string, s"Field separator of CSV ($csv).", Some(","))

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
private[epochal] object LoneRecordOptions {

  val Schema: OptionSpec[String] = OptionSpec(
    "schema",
    OptionType.string,
    "The records' schema as DDL, unless given by .schema(…) (format=json or csv).",
    sample = Some("id INT, name STRING"))
  private val shared =
    new SharedRecordOptions("parseMode", standard = "PERMISSIVE", csv = "format=csv")
  import shared.Separator

  val options: Seq[OptionSpec[_]] = Seq(Schema, shared.Mode, shared.CorruptColumn, shared.RescuedColumn, Separator)

  /** Parses the rules.
    *
    * @param kind
    *   json or csv
    */
  def read(values: OptionValues, kind: String): Either[EpochalException, RecordRules] =
    for {
      _ <- values.only(Separator)(kind == "csv", "{option:format=csv}")
      separator <- shared.separator(values)
    } yield {
      val format =
        if (kind == "csv") RecordFormat.Csv(header = false, separator, None) else RecordFormat.Ndjson(tolerant = true)
      RecordRules(format, shared.mode(values), values.get(shared.RescuedColumn))
    }

  /** Rejects all of them for text records. */
  def unset(values: OptionValues): Either[EpochalException, Unit] = {
    val parsed = options.filterNot(_ == Separator)
    for {
      _ <- values.only(parsed.find(values.isSet(_)).getOrElse(Schema))(
        holds = false,
        "{option:format=json} or {option:format=csv}")
      _ <- values.only(Separator)(holds = false, "{option:format=csv}")
    } yield ()
  }

  /** OPTION_REQUIRED: no columns are given. */
  def lacksSchema(format: String): EpochalException = Conditions.OptionRequired(
    "format" -> format,
    "option" -> Schema.name,
    "doc" -> Schema.doc.stripSuffix("."),
    "example" -> Schema.example)
}
