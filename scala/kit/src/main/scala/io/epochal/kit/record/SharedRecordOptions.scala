package io.epochal.kit.record

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionList, OptionType, OptionValues}

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
