package io.epochal.rest.source

import org.apache.spark.sql.types.{IntegerType, MapType, StringType, StructField, TimestampType}
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{NameList, OptionType, OptionValues}
import io.epochal.kit.access.SecretOptionList
import io.epochal.kit.record.{
  RecordFormat,
  RecordOrigin,
  RecordPlace,
  RecordRules,
  RecordShape,
  SharedRecordOptions,
  TextEncoding
}
import io.epochal.kit.spark.TextMap
import io.epochal.rest.http.BodyRules

/** The options that decide how responses become rows. */
private[rest] object RecordOptions extends SecretOptionList {

  private val sharedOptions = new SharedRecordOptions("mode", standard = "FAILFAST", csv = "bodyFormat=csv")
  import sharedOptions.{CorruptColumn, Mode, RequireColumns, RescuedColumn, Separator}

  val Format = option("bodyFormat", OptionType.oneOf("json", "ndjson", "csv"), Some("json"))(
    "Format of responses; json holds an array of records.")
  val Encoding = option("encoding", charset, sample = Some("ISO-8859-1"))(
    "Charset of responses, whatever their Content-Type declares. Unset: the declared one, else UTF-8.")
  val Records = option("records", OptionType.jsonPointers, sample = Some("/data/items"))(
    "JSON Pointer to the array of records, or several with commas between them; one step may be an asterisk, for each element or field. Unset: the whole response.")
  val Shape = option("recordShape", OptionType.oneOf("array", "object", "map", "rows"), Some("array"))(
    "What is at records: an array of records, one object, an object whose fields are records (map), or an array of rows, which are arrays of values (bodyFormat=json).")
  val MapKeyColumn = option("mapKeyColumn", OptionType.string, Some("_key"))(
    "Column for the name of a record's field; added if the schema lacks it (recordShape=map).")
  val Columns = option("columns", OptionType.jsonPointer, sample = Some("/columns"))(
    "JSON Pointer to the names of a row's values: texts, or objects with a field name. Unset: the schema's order (recordShape=rows).")
  val Path = option("recordPath", OptionType.jsonPointer, sample = Some("/node"))(
    "JSON Pointer within each element to the record. Unset: the element (bodyFormat=json).")
  val MissingRecords = option("missingRecords", OptionType.oneOf("fail", "empty"), Some("fail"))(
    "Whether a response without the array of records, or with an empty body, fails or is an empty page (bodyFormat=json).")
  also(sharedOptions.Separator): Unit
  val Header = option("header", OptionType.boolean, Some(true))(
    "Whether each response's first line names the fields; if not, they follow the schema's order (bodyFormat=csv).")
  val NullValue = option("nullValue", OptionType.string, sample = Some("NA"))(
    "Unquoted text that means NULL, as an empty field does (bodyFormat=csv).")
  Seq(Mode, CorruptColumn, RescuedColumn, RequireColumns).foreach(also(_))
  val MetadataColumns = option("metadataColumns", columnNames, sample = Some("_url,_fetchedAt"))(
    "Columns to add: _url STRING and _headers MAP<STRING, STRING> (lower-case names), both without possible secrets; _status INT; _fetchedAt TIMESTAMP; _params MAP<STRING, STRING> (of partitionParams).")
  val MaxRecordBytes = option("maxRecordBytes", OptionType.bytes, sample = Some("1m"))(
    "Maximum record size; a larger record is handled by mode. Unset: maxResponseBytes.")

  private[rest] def rules(values: OptionValues): Either[EpochalException, RecordRules] =
    for {
      _ <- values.only(CorruptColumn)(values(Mode) == "PERMISSIVE", "{option:mode=PERMISSIVE}")
      format <- format(values)
      origin <- metadata(values)
      rules = RecordRules(
        format,
        sharedOptions.mode(values),
        values.get(RescuedColumn),
        origin,
        values.get(MaxRecordBytes),
        values(RequireColumns),
        Option.when(values(Shape) == "map")(StructField(values(MapKeyColumn), StringType)).toSeq
      )
      names = (rules.apart ++ rules.added).map(_.name)
      _ <- names
        .diff(names.distinct)
        .headOption
        .map(name => values.conflict(s"two columns '$name'", "Give each of these columns a name of its own."))
        .toLeft(())
    } yield rules

  /** Rejects options that look for the next page or for keys in bodies other than JSON. */
  private[rest] def checkBodyFormat(values: OptionValues, paging: Paging): Either[EpochalException, Unit] = {
    val looksInside = paging match {
      case windows: TimeWindow      => windows.keyed || windows.pointers.nonEmpty || windows.key.nonEmpty
      case pages: ChainedPagination => pages.pointers.nonEmpty || pages.key.nonEmpty
      case _                        => values.isSet(PagingOptions.KeyField)
    }
    val inside = PagingOptions.inBodies.filter(values.isSet(_)).map(_.reference)
    values.consistent(!looksInside || values(Format) == "json")(
      (inside :+ s"{option:${Format.name}=${values(Format)}}").mkString(", "),
      s"Leave ${inside.mkString(" and ")} out: where the body is not JSON only headers can name the next page " +
        "({option:nextCursorHeader}, or {option:pagination=link}), and records have no keys.")
  }

  /** The Accept header of a format other than JSON. */
  private[rest] def accept(values: OptionValues): Option[(String, String)] = values(Format) match {
    case "ndjson" => Some("Accept" -> "application/x-ndjson")
    case "csv"    => Some("Accept" -> "text/csv")
    case _        => None
  }

  /** The settings of the format that decide which records there are; None for JSON. */
  private[rest] def identity(values: OptionValues): Option[String] = values(Format) match {
    case "json" =>
      val shape = Option.when(values(Shape) != "array")(s"recordShape=${values(Shape)}")
      val all = shape ++ values.get(Path).filter(_.nonEmpty).map(path => s"recordPath=$path")
      Option.when(all.nonEmpty)(all.mkString(", "))
    case "csv" =>
      val separator = Option.when(values(Separator) != ",")(s"sep=${values(Separator)}")
      Some((Seq("csv") ++ separator ++ Option.when(!values(Header))("header=false")).mkString(", "))
    case other => Some(other)
  }

  private def format(values: OptionValues): Either[EpochalException, RecordFormat] = {
    val kind = values(Format)
    for {
      _ <- values.only((Records +: Shape +: Path +: MissingRecords +: BodyRules.all): _*)(
        kind == "json",
        "{option:bodyFormat=json}")
      _ <- values.only(MapKeyColumn)(values(Shape) == "map", "{option:recordShape=map}")
      _ <- values.only(Columns)(values(Shape) == "rows", "{option:recordShape=rows}")
      _ <- values.consistent(values(Shape) != "rows" || values.isSet(Columns) || !values(RestOptions.InferSchema))(
        "{option:recordShape=rows}, {option:inferSchema=true}",
        "Set {option:columns} to the names in the response, or give the schema.")
      _ <- pointers(values)
        .find(_.split("/", -1).count(_ == "*") > 1)
        .map(values.group.invalid(Records, _, "a JSON Pointer with at most one *"))
        .toLeft(())
      _ <- values.only(Separator, Header, NullValue)(kind == "csv", "{option:bodyFormat=csv}")
      _ <- values.only(RequireColumns)(kind != "csv", "{option:bodyFormat=json} or {option:bodyFormat=ndjson}")
      separator <- sharedOptions.separator(values)
      tolerant = values(Mode) != "FAILFAST"
    } yield kind match {
      case "ndjson" => RecordFormat.Ndjson(tolerant)
      case "csv"    => RecordFormat.Csv(values(Header), separator, values.get(NullValue), tolerant)
      case _        => RecordFormat.Json(array(values).getOrElse(""), values(MissingRecords) == "empty", shape(values))
    }
  }

  private def pointers(values: OptionValues): Seq[String] = values.get(Records).getOrElse(Seq(""))

  /** JSON Pointer to the array, where records are simply its elements. */
  private[rest] def array(values: OptionValues): Option[String] =
    Option.when(shape(values).isEmpty)(pointers(values).head)

  private def shape(values: OptionValues): Option[RecordShape] = {
    val places = pointers(values).map(RecordPlace.of(_, values.get(Path).getOrElse("")))
    val kind = values(Shape) match {
      case "object" => RecordShape.Single
      case "map"    => RecordShape.Fields(values(MapKeyColumn))
      case "rows"   => RecordShape.Rows(values.get(Columns))
      case _        => RecordShape.Elements
    }
    val isPlain = kind == RecordShape.Elements && places.sizeIs == 1 &&
      !places.exists(one => one.path.contains("*") || one.part.nonEmpty)
    val connection = values.get(PagingOptions.Connection).filterNot(_ => values.isSet(Records))
    connection match {
      case Some(pointer) =>
        val both = Seq(RecordPlace.of(s"$pointer/nodes"), RecordPlace.of(s"$pointer/edges", "/node"))
        Some(RecordShape(kind, both, alternative = true))
      case None => Option.when(!isPlain)(RecordShape(kind, places))
    }
  }

  private def columnNames = new OptionType[Seq[String]](
    OriginColumns.all.map(_.name).mkString("names of ", "/", ""),
    OptionType.names.expected,
    OptionType.names.example)(NameList.names, NameList.render)

  private def charset = new OptionType[String]("charset", "a charset that Java knows", "ISO-8859-1")(
    text => TextEncoding.named(text.trim).map(_.name),
    name => name)

  /** Whether parameters select the lists. */
  private def selectsLists(values: OptionValues): Boolean =
    values.isSet(FanOut.PartitionParams) || values.isSet(Lineage.ParentUrl)

  private def metadata(values: OptionValues): Either[EpochalException, Seq[StructField]] = {
    val columns = values.get(MetadataColumns).getOrElse(Nil)
    columns.find(name => !OriginColumns.all.exists(_.name == name)) match {
      case Some(name) =>
        val names = OriginColumns.all.map(_.name)
        def whole(right: String) = NameList.render(columns.map(one => if (one == name) right else one))
        Left(values.group.invalid(MetadataColumns, name, s"one of ${names.mkString(", ")}", names, whole))
      case None if columns.contains(OriginColumns.Params.name) && !selectsLists(values) =>
        Left(
          values
            .conflict(
              "{option:metadataColumns=_params} without {option:partitionParams}",
              "Set {option:partitionParams}, or leave _params out."))
      case None => Right(columns.distinct.flatMap(name => OriginColumns.all.find(_.name == name)))
    }
  }
}

/** The origin of a response.
  *
  * @param url
  *   without possible secrets
  * @param fetchedAt
  *   time of receipt, in microseconds since 1970
  * @param headers
  *   None unless a column needs them
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

/** Columns for the origin of a record. */
private[rest] object OriginColumns {

  /** The address of the page without user info, query of the URL and parameters, which may be secret. */
  val Url: StructField = StructField("_url", StringType)

  val Status: StructField = StructField("_status", IntegerType)

  val FetchedAt: StructField = StructField("_fetchedAt", TimestampType)

  /** The headers of the response: names in lower case; those that may be secret are omitted. */
  val Headers: StructField = StructField("_headers", MapType(StringType, StringType))

  /** The row of `partitionParams` that selected the record. */
  val Params: StructField = StructField("_params", MapType(StringType, StringType))

  /** Those that need the response. */
  val ofResponse: Seq[StructField] = Seq(Url, Status, FetchedAt, Headers)

  val all: Seq[StructField] = ofResponse :+ Params
}
