package io.epochal.kit.record

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Try

import org.apache.spark.sql.functions.col
import org.apache.spark.sql.types._
import org.apache.spark.sql.{Encoders, SparkSession}

import io.epochal.core.error.{Conditions, EpochalException, Redaction}
import io.epochal.kit.source.InitialOffset

/** Checks the user's columns against a format's types.
  *
  * @param source
  *   the source's name, for errors
  */
final private[epochal] class RecordSchema(source: String) {

  def parse(ddl: String): Either[EpochalException, StructType] =
    Try(StructType.fromDDL(ddl)).toEither.left.map(e => invalid(ddl, Redaction.text(e.getMessage.linesIterator.next())))

  /** Validates a schema.
    *
    * @param declared
    *   from `.schema(...)`, or parsed from the option
    * @param option
    *   the option `schema`
    * @return
    *   the columns of the records, and after them the other columns that are not among them
    */
  def of(declared: StructType, option: Option[String], rules: RecordRules): Either[EpochalException, StructType] = {
    val problem = option
      .flatMap(ddl => parse(ddl).fold(Some(_), found => Option.when(found != declared)(conflict(ddl, declared))))
      .orElse(Option.when(declared.isEmpty)(invalid("", "it has no columns")))
      .orElse(misfit(declared, rules).map(invalid(declared.toDDL, _)))
    problem.toLeft {
      val apart = rules.apart.map(field => field.name -> field).toMap
      StructType(
        declared.map(field => apart.getOrElse(field.name, field.copy(dataType = nullable(field.dataType)))) ++
          (rules.added ++ rules.apart).filterNot(field => declared.fieldNames.contains(field.name)))
    }
  }

  private def misfit(declared: StructType, rules: RecordRules): Option[String] = {
    val names = declared.fieldNames
    names
      .diff(names.distinct)
      .headOption
      .map(name => s"it has two columns '$name'")
      .orElse(declared.flatMap(unsupported(_, rules.format)).headOption.map { case (place, kind) =>
        s"$place is ${kind.sql}, which ${rules.format.name} has no value for"
      })
      .orElse(
        declared
          .flatMap(field => rules.apart.find(apart => apart.name == field.name && apart.dataType != field.dataType))
          .headOption
          .map(apart => s"the column '${apart.name}' must be ${apart.dataType.sql}"))
      .orElse(declared
        .find(field => !field.nullable && rules.corrupt.isDefined)
        .map(field =>
          s"under {option:mode=PERMISSIVE} the column '${field.name}' is NULL where it does not fit, and cannot be NOT NULL"))
  }

  /** NOT NULL is kept, and checked in every record, for columns; nested fields are always nullable. */
  private def nullable[T <: DataType](kind: T): T = (kind match {
    case struct: StructType =>
      StructType(struct.map(f => StructField(f.name, nullable(f.dataType), nullable = true, f.metadata)))
    case ArrayType(element, _)  => ArrayType(nullable(element), containsNull = true)
    case MapType(key, value, _) => MapType(key, nullable(value), valueContainsNull = true)
    case other                  => other
  }).asInstanceOf[T]

  private def unsupported(field: StructField, format: RecordFormat): Option[(String, DataType)] =
    (format, field.dataType) match {
      case (_: RecordFormat.Csv, kind @ (_: StructType | _: ArrayType | _: MapType | VariantType)) =>
        Some(field.name -> kind)
      case (_, kind) => unsupported(field.name, kind)
    }

  private def unsupported(place: String, kind: DataType): Option[(String, DataType)] = kind match {
    case struct: StructType    => struct.flatMap(f => unsupported(s"$place.${f.name}", f.dataType)).headOption
    case ArrayType(element, _) => unsupported(s"$place.element", element)
    case MapType(_: StringType, value, _) => unsupported(s"$place.value", value)
    case known if supported(known)        => None
    case other                            => Some(place -> other)
  }

  // By name, not by class: Spark 4.0 lacks some of these.
  private def supported(kind: DataType): Boolean = kind match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType | BinaryType => true
    case DateType | TimestampType | TimestampNTZType | CalendarIntervalType | VariantType                  => true
    case _: CharType | _: VarcharType                                                                      => false
    case _: StringType | _: DecimalType | _: YearMonthIntervalType | _: DayTimeIntervalType                => true
    case other => other.typeName.startsWith("time(")
  }

  private def invalid(ddl: String, reason: String): EpochalException =
    Conditions.SchemaInvalid("format" -> source, "schema" -> ddl, "reason" -> reason)

  private def conflict(ddl: String, declared: StructType): EpochalException =
    Conditions.OptionConflict(
      "format" -> source,
      "options" -> s"{option:schema=$ddl}, {schema:${declared.toDDL}}",
      "suggestion" -> "Give the schema once.")
}

/** The schema that Spark's own readers infer from a page. */
private[epochal] object SchemaInference {

  /** Runs Spark's inference over the first records of a page.
    *
    * @param place
    *   where the page came from, for errors
    * @param body
    *   with one record or more
    * @return
    *   why no schema can be inferred, or the schema
    */
  def of(format: RecordFormat, body: Body, place: String): Either[String, StructType] = {
    val records = format.open(body, place)
    val texts = Iterator
      .continually(records)
      .takeWhile(_.next())
      .take(MaxRecords)
      .map(record => new String(record.bytes, UTF_8))
      .toVector
    format match {
      // Here Spark parses numbers from texts of any length.
      case _: RecordFormat.Csv if texts.exists(hasLongNumber) =>
        Left(s"it has a number of more than $MaxDigits digits")
      case csv: RecordFormat.Csv =>
        withFields(ofCsv(texts, csv, new CsvRecords(csv.pieces(body).next(), csv, place).header))
      case _ => withFields(ofJson(texts.filter(_.startsWith("{"))))
    }
  }

  private def withFields(schema: StructType): Either[String, StructType] =
    Either.cond(schema.nonEmpty, schema, "its records have no fields")

  /** Stores the schema in the stream's part of the checkpoint; later runs reject a different one.
    *
    * @param source
    *   its name, for an error
    * @param checkpoint
    *   where the stream keeps its first offset
    * @throws EpochalException
    *   SCHEMA_CHANGED
    */
  def fix(source: String, schema: StructType, checkpoint: InitialOffset): Unit = {
    def parsed(text: String) = Try(DataType.fromJson(text)).toOption.collect { case struct: StructType => struct }
    val known = parsed(checkpoint.named(FileName).orElse(schema.json, fits = parsed(_).contains(schema)))
    if (!known.contains(schema))
      throw Conditions.SchemaChanged(
        "format" -> source,
        "found" -> schema.toDDL,
        "expected" -> known.fold("(unreadable)")(_.toDDL))
  }

  private def ofJson(records: Seq[String]): StructType = {
    val spark = SparkSession.active
    if (records.isEmpty) new StructType() else spark.read.json(spark.createDataset(records)(Encoders.STRING)).schema
  }

  private def hasLongNumber(line: String): Boolean = {
    var digits = 0
    line.exists { c =>
      digits = if (Character.isDigit(c)) digits + 1 else 0
      digits > MaxDigits
    }
  }

  private def ofCsv(lines: Seq[String], csv: RecordFormat.Csv, header: Option[Seq[String]]): StructType = {
    val spark = SparkSession.active
    val plain = spark.read.option("inferSchema", "true").option("sep", csv.separator.toString).option("escape", "\"")
    val reader = csv.nullText.fold(plain)(plain.option("nullValue", _))
    val texts = spark.createDataset(lines)(Encoders.STRING)
    // Spark infers TIMESTAMP from times without a date.
    val found = StructType(reader.csv(texts).schema.map { field =>
      def isTime =
        reader.option("inferSchema", "false").csv(texts).where(col(field.name).rlike("^\\s*(T|\\d+:)")).head(1)
      if (field.dataType == TimestampType && isTime.nonEmpty) field.copy(dataType = StringType) else field
    })
    header.fold(found)(names => StructType(found.zip(names).map { case (field, name) => field.copy(name = name) }))
  }

  private val FileName = "inferred-schema"

  /** The number of records that inference reads. */
  private val MaxRecords = 1000
  private val MaxDigits = 1000
}
