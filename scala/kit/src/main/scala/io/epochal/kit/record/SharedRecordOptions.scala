package io.epochal.kit.record

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}

/** The options of records that formats share: what becomes of one that does not fit the schema, and what separates the fields of
  * CSV.
  *
  * @param modeName
  *   what the format calls the mode
  * @param standard
  *   the mode where none is given
  * @param csv
  *   the option, with its value, that asks for CSV
  */
final private[epochal] class SharedRecordOptions(modeName: String, standard: String, csv: String) {

  val Mode: OptionSpec[String] = OptionSpec(
    modeName,
    OptionType.oneOf("FAILFAST", "PERMISSIVE", "DROPMALFORMED"),
    "What happens to a record that does not fit the schema: FAILFAST, it fails the query; PERMISSIVE, it goes into a column of its own; " +
      "DROPMALFORMED, it is dropped.",
    Some(standard)
  )
  val CorruptColumn: OptionSpec[String] = OptionSpec(
    "columnNameOfCorruptRecord",
    OptionType.string,
    s"The STRING column that a record which does not fit goes into, as it came ($modeName=PERMISSIVE). Added where the schema lacks it.",
    Some("_corrupt_record")
  )
  val RescuedColumn: OptionSpec[String] = OptionSpec(
    "rescuedDataColumn",
    OptionType.string,
    "The STRING column that fields without a column go into, as a JSON object. Added where the schema lacks it. Unset: they are ignored.",
    sample = Some("_rescued_data"))
  val Separator: OptionSpec[String] =
    OptionSpec("sep", OptionType.string, s"Character between the fields of CSV ($csv).", Some(","))

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
