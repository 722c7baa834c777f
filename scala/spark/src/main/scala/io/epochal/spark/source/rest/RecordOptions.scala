package io.epochal.spark.source.rest

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}

/** The options that say what of an answer becomes rows. */
object RecordOptions {

  val Records: OptionSpec[String] = OptionSpec(
    "records",
    OptionType.jsonPointer,
    "JSON Pointer to the array of records in an answer. Unset: the answer is the array.",
    sample = Some("/data/items"))
  val Mode: OptionSpec[String] = OptionSpec(
    "mode",
    OptionType.oneOf("FAILFAST", "PERMISSIVE", "DROPMALFORMED"),
    "What becomes of a record that does not fit the schema: it fails the query, goes into a column of its own, or is dropped.",
    Some("FAILFAST"))
  val CorruptColumn: OptionSpec[String] = OptionSpec(
    "columnNameOfCorruptRecord",
    OptionType.string,
    "The STRING column that a record which does not fit goes into, as it came (mode=PERMISSIVE). Added where the schema lacks it.",
    Some("_corrupt_record"))
  val RescuedColumn: OptionSpec[String] = OptionSpec(
    "rescuedDataColumn",
    OptionType.string,
    "The STRING column that fields without a column go into, as a JSON object. Added where the schema lacks it. Unset: they are passed over.",
    sample = Some("_rescued_data"))
  val MetadataColumns: OptionSpec[Seq[String]] = OptionSpec(
    "metadataColumns",
    OptionType.names,
    "Columns to add that tell where a record came from: _url STRING (without what may be secret), _status INT, _fetchedAt TIMESTAMP.",
    sample = Some("_url,_fetchedAt"))

  val all: Seq[OptionSpec[_]] = Seq(Records, Mode, CorruptColumn, RescuedColumn, MetadataColumns)

  private[rest] def rules(values: OptionValues): Either[EpochalException, RecordRules] =
    for {
      _ <- only(values, CorruptColumn)(values(Mode) == "PERMISSIVE", "mode=PERMISSIVE")
      answer <- metadata(values)
      rules = RecordRules(
        BodyFormat.Json(values.get(Records).getOrElse("")),
        values(Mode) match {
          case "PERMISSIVE"    => RecordMode.Permissive(values(CorruptColumn))
          case "DROPMALFORMED" => RecordMode.DropMalformed
          case _               => RecordMode.FailFast
        },
        values.get(RescuedColumn),
        answer
      )
      names = rules.apart.map(_.name)
      _ <- names
        .diff(names.distinct)
        .headOption
        .map(name => conflict(s"two columns '$name'", "Give each of these columns a name of its own."))
        .toLeft(())
    } yield rules

  private def metadata(values: OptionValues): Either[EpochalException, Seq[AnswerColumn]] = {
    val wanted = values.get(MetadataColumns).getOrElse(Nil)
    wanted.find(name => !AnswerColumn.all.exists(_.name == name)) match {
      case Some(name) =>
        Left(
          Conditions.OptionInvalid(
            "option" -> MetadataColumns.name,
            "format" -> RestOptions.Format,
            "value" -> name,
            "expected" -> s"one or more of ${AnswerColumn.all.map(_.name).mkString(", ")}",
            "example" -> MetadataColumns.example
          ))
      case None => Right(wanted.distinct.flatMap(name => AnswerColumn.all.find(_.name == name)))
    }
  }

  /** Refuses an option that says nothing without another. */
  private def only(values: OptionValues, spec: OptionSpec[_])(
      holds: Boolean,
      other: String
  ): Either[EpochalException, Unit] =
    Either.cond(
      holds || !values.isSet(spec),
      (),
      conflict(s"${spec.name} without $other", s"Set $other, or leave ${spec.name} out."))

  private def conflict(options: String, suggestion: String): EpochalException =
    Conditions.OptionsConflict("format" -> RestOptions.Format, "options" -> options, "suggestion" -> suggestion)
}
