package io.epochal.rest.source.paging

import org.apache.spark.sql.types.StructField

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{NameList, OptionSpec, OptionType, OptionValues}
import io.epochal.kit.record.{RecordFormat, RecordRules, SharedRecordOptions}

/** The options that say what of a response becomes rows. */
object RecordOptions {

  private val shared = new SharedRecordOptions("mode", standard = "FAILFAST", csv = "bodyFormat=csv")
  import shared.{CorruptColumn, Mode, RescuedColumn, Separator}

  val Records: OptionSpec[String] = OptionSpec(
    "records",
    OptionType.jsonPointer,
    "JSON Pointer to the array of records in a response. Unset: the response is the array.",
    sample = Some("/data/items"))
  val MissingRecords: OptionSpec[String] = OptionSpec(
    "missingRecords",
    OptionType.oneOf("fail", "empty"),
    "What a response is that has nothing, or null, where records says that the array is: a failure, or a page without records, of an " +
      "API that leaves empty lists out (bodyFormat=json).",
    Some("fail")
  )
  val Format: OptionSpec[String] = OptionSpec(
    "bodyFormat",
    OptionType.oneOf("json", "ndjson", "csv"),
    "How a response holds records: in an array of JSON, as JSON with one record a line, or as CSV.",
    Some("json"))
  val Header: OptionSpec[Boolean] = OptionSpec(
    "header",
    OptionType.boolean,
    "Whether the first line of each response in CSV names the fields; without it they are the schema's columns in their order (bodyFormat=csv).",
    Some(true))
  val NullValue: OptionSpec[String] = OptionSpec(
    "nullValue",
    OptionType.string,
    "Unquoted text that is NULL in CSV, as an empty field is in any case (bodyFormat=csv).",
    sample = Some("NA"))
  val InferSchema: OptionSpec[Boolean] = OptionSpec(
    "inferSchema",
    OptionType.boolean,
    "Whether Spark infers the schema from the records of the first page, where none is given. A query keeps it: the checkpoint has it, and a different one is refused.",
    Some(false))
  val MetadataColumns: OptionSpec[Seq[String]] = OptionSpec(
    "metadataColumns",
    OptionType.names,
    "Columns to add that say where a record came from: _url STRING (without what may be secret), _status INT, _fetchedAt TIMESTAMP, " +
      "_headers MAP<STRING, STRING> (names in lower case, without those that may be secret), " +
      "_params MAP<STRING, STRING> (the row of partitionParams).",
    sample = Some("_url,_fetchedAt"))

  val MaxRecordBytes: OptionSpec[Long] = OptionSpec(
    "maxRecordBytes",
    OptionType.bytes,
    "Largest record; a larger one does not fit, and mode says what happens to it. Unset: as large as a response may be.",
    sample = Some("1m"))

  val all: Seq[OptionSpec[_]] =
    Seq(
      Format,
      Records,
      MissingRecords,
      Separator,
      Header,
      NullValue,
      Mode,
      CorruptColumn,
      RescuedColumn,
      MetadataColumns,
      MaxRecordBytes)

  private[rest] def rules(values: OptionValues): Either[EpochalException, RecordRules] =
    for {
      _ <- values.only(CorruptColumn)(values(Mode) == "PERMISSIVE", "mode=PERMISSIVE")
      format <- format(values)
      origin <- metadata(values)
      rules = RecordRules(
        format,
        shared.mode(values),
        values.get(RescuedColumn),
        origin,
        values.get(MaxRecordBytes)
      )
      names = rules.apart.map(_.name)
      _ <- names
        .diff(names.distinct)
        .headOption
        .map(name => values.conflict(s"two columns '$name'", "Give each of these columns a name of its own."))
        .toLeft(())
    } yield rules

  /** Refuses to look in bodies that are no JSON for what says how the pages go on, and what their records' keys are. */
  private[rest] def followed(values: OptionValues, paging: Paging): Either[EpochalException, Unit] = {
    val looksInside = paging match {
      case windows: TimeWindow      => windows.keyed || windows.pointers.nonEmpty || windows.key.nonEmpty
      case pages: ChainedPagination => pages.pointers.nonEmpty || pages.key.nonEmpty
      case _                        => values.isSet(PagingOptions.KeyField)
    }
    val inside = PagingOptions.inBodies.filter(values.isSet(_)).map(_.name)
    Either.cond(
      !looksInside || values(Format) == "json",
      (),
      values.conflict(
        (inside :+ s"${Format.name}=${values(Format)}").mkString(", "),
        s"Leave ${inside.mkString(" and ")} out: where the body is not JSON only headers can name the next page " +
          "(nextCursorHeader, or pagination=link), and records have no keys.")
    )
  }

  /** The header Accept that asks for the format, where it is not JSON. */
  private[rest] def accept(values: OptionValues): Option[(String, String)] = values(Format) match {
    case "ndjson" => Some("Accept" -> "application/x-ndjson")
    case "csv"    => Some("Accept" -> "text/csv")
    case _        => None
  }

  /** What of the format decides which records there are; None for JSON. */
  private[rest] def identity(values: OptionValues): Option[String] = values(Format) match {
    case "json" => None
    case "csv" =>
      val separator = Option.when(values(Separator) != ",")(s"sep=${values(Separator)}")
      Some((Seq("csv") ++ separator ++ Option.when(!values(Header))("header=false")).mkString(", "))
    case other => Some(other)
  }

  private def format(values: OptionValues): Either[EpochalException, RecordFormat] = {
    val kind = values(Format)
    for {
      _ <- values.only(Records)(kind == "json", "bodyFormat=json")
      _ <- values.only(MissingRecords)(kind == "json", "bodyFormat=json")
      _ <- values.only(Separator)(kind == "csv", "bodyFormat=csv")
      _ <- values.only(Header)(kind == "csv", "bodyFormat=csv")
      _ <- values.only(NullValue)(kind == "csv", "bodyFormat=csv")
      separator <- shared.separator(values)
    } yield kind match {
      case "ndjson" => RecordFormat.Ndjson(tolerant = values(Mode) != "FAILFAST")
      case "csv"    => RecordFormat.Csv(values(Header), separator, values.get(NullValue))
      case _        => RecordFormat.Json(values.get(Records).getOrElse(""), values(MissingRecords) == "empty")
    }
  }

  private def metadata(values: OptionValues): Either[EpochalException, Seq[StructField]] = {
    val wanted = values.get(MetadataColumns).getOrElse(Nil)
    wanted.find(name => !OriginColumns.all.exists(_.name == name)) match {
      case Some(name) =>
        val names = OriginColumns.all.map(_.name)
        def whole(right: String) = NameList.render(wanted.map(one => if (one == name) right else one))
        Left(values.group.invalid(MetadataColumns, name, s"one of ${names.mkString(", ")}", names, whole))
      case None if wanted.contains(OriginColumns.Params.name) && !values.isSet(FanOut.PartitionParams) =>
        Left(
          values
            .conflict("metadataColumns=_params without partitionParams", "Set partitionParams, or leave _params out."))
      case None => Right(wanted.distinct.flatMap(name => OriginColumns.all.find(_.name == name)))
    }
  }
}
