package io.epochal.kit.record

import scala.util.Try

import org.apache.spark.sql.types._

import io.epochal.core.error.{Conditions, EpochalException, Redaction}

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
      .flatMap(ddl => parse(ddl).fold(Some(_), schema => Option.when(schema != declared)(conflict(ddl, declared))))
      .orElse(Option.when(declared.isEmpty)(invalid("", "it has no columns")))
      .orElse(misfit(declared, rules).map(invalid(declared.toDDL, _)))
    problem.toLeft {
      val apart = rules.apart.map(field => field.name -> field).toMap
      StructType(
        declared.map(field => apart.getOrElse(field.name, field.copy(dataType = nullable(field.dataType)))) ++
          (rules.added ++ rules.apart).filterNot(field => declared.fieldNames.contains(field.name)))
    }
  }

  private def misfit(schema: StructType, rules: RecordRules): Option[String] = {
    val names = schema.fieldNames
    names
      .diff(names.distinct)
      .headOption
      .map(name => s"it has two columns '$name'")
      .orElse(schema.flatMap(misfitOf(_, rules.format)).headOption.map { case (place, kind) =>
        s"$place is ${kind.sql}, which ${rules.format.name} has no value for"
      })
      .orElse(
        schema
          .flatMap(field => rules.apart.find(apart => apart.name == field.name && apart.dataType != field.dataType))
          .headOption
          .map(apart => s"the column '${apart.name}' must be ${apart.dataType.sql}"))
      .orElse(schema
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

  private def misfitOf(field: StructField, format: RecordFormat): Option[(String, DataType)] =
    (format, field.dataType) match {
      case (_: RecordFormat.Csv, kind @ (_: StructType | _: ArrayType | _: MapType | VariantType)) =>
        Some(field.name -> kind)
      case (_, kind) => misfitOf(field.name, kind)
    }

  private def misfitOf(place: String, kind: DataType): Option[(String, DataType)] = kind match {
    case struct: StructType               => struct.flatMap(f => misfitOf(s"$place.${f.name}", f.dataType)).headOption
    case ArrayType(element, _)            => misfitOf(s"$place.element", element)
    case MapType(_: StringType, value, _) => misfitOf(s"$place.value", value)
    case kind if supported(kind)          => None
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

  private def conflict(ddl: String, schema: StructType): EpochalException =
    Conditions.OptionConflict(
      "format" -> source,
      "options" -> s"{option:schema=$ddl}, {schema:${schema.toDDL}}",
      "suggestion" -> "Give the schema once.")
}
