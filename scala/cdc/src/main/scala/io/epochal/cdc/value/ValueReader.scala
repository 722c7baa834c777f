package io.epochal.cdc.value

import java.io.ByteArrayOutputStream

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.database.{PostgresColumn, PostgresType}

/** Reads values of one PostgreSQL type as one Spark type, in Spark's internal form, from either of the server's forms.
  *
  * Texts share the given bytes, which must not change while they are in use. One thread at a time.
  */
abstract class ValueReader {

  /** Whether `binary` may be called. */
  def hasBinary: Boolean = true

  /** Reads what the type's send function returns, which is not NULL.
    *
    * @throws UnreadableValue
    *   the Spark type does not have the value
    */
  def binary(bytes: Array[Byte], offset: Int, length: Int): Any

  /** Reads what the type's output function prints under [[ValueReader.Settings]]. */
  def text(bytes: Array[Byte], offset: Int, length: Int): Any
}

object ValueReader {

  /** Settings that a session must SET before the server prints texts for it: a role or database may have others. Connections of
    * pgjdbc begin with the time zone of the JVM.
    */
  val Settings: Seq[(String, String)] = Seq(
    "DateStyle" -> "ISO, YMD",
    "IntervalStyle" -> "postgres",
    "TimeZone" -> "UTC",
    "extra_float_digits" -> "3",
    "bytea_output" -> "hex")

  /** The Spark type of a column by default; None: its texts depend on the catalog at the time of reading. */
  def sparkType(kind: PostgresType): Option[DataType] = kind.shape match {
    case PostgresType.Elements(element, _) => sparkType(element).map(ArrayType(_))
    case PostgresType.Plain =>
      if (isCatalogName(kind)) None
      else if (kind.name == "numeric") Some(decimal(kind).getOrElse(StringType))
      else Some(Natives.getOrElse(kind.name, StringType))
    case _ => Some(StringType)
  }

  /** The schema of a table by default. All columns are nullable: a deleted row has its key only.
    *
    * @param table
    *   for messages
    * @throws EpochalException
    *   if a column has no Spark type
    */
  def schema(table: String, columns: Seq[PostgresColumn]): StructType = {
    val sparkTypes = columns.map(column => column -> sparkType(column.kind))
    def fields = sparkTypes.map { case (column, of) => StructField(column.name, of.getOrElse(StringType)) }
    sparkTypes.find(_._2.isEmpty) match {
      case None => StructType(fields)
      case Some((column, _)) =>
        val instruction = s"Read it as STRING, {schema:${StructType(fields).toDDL}}, or leave it out"
        throw refusal(table, column, "prints the current name of another object", instruction)
    }
  }

  /** The reader of a column as one of the types that it can be read as: its default, STRING, and for numeric any DECIMAL, which
    * takes the values that fit exactly.
    *
    * @throws EpochalException
    *   it cannot be read as that
    */
  def of(table: String, column: PostgresColumn, to: DataType): ValueReader =
    reader(column.kind, to).getOrElse {
      val types = (sparkType(column.kind).toSeq :+ StringType).distinct.map(_.sql).mkString(" or ")
      throw refusal(table, column, s"cannot be read as ${to.sql}", s"Read it as $types in the schema")
    }

  private def refusal(table: String, column: PostgresColumn, reason: String, instruction: String): EpochalException =
    Conditions.ColumnUnsupported(
      "table" -> table,
      "column" -> column.name,
      "columnType" -> column.kind.declaration,
      "reason" -> reason,
      "instruction" -> instruction)

  private def reader(kind: PostgresType, to: DataType): Option[ValueReader] = (kind.shape, to) match {
    case (PostgresType.Elements(element, delimiter), ArrayType(of, true)) =>
      reader(element, of).map(new ArrayReader(_, delimiter))
    case (_: PostgresType.Fields, _: StringType)        => Some(new JsonReader(kind))
    case (PostgresType.Enum(_), _: StringType)          => Some(TextReader)
    case (PostgresType.Plain, _: StringType)            => Some(texts.getOrElse(kind.name, PrintedReader))
    case (_, _: StringType)                             => Some(PrintedReader)
    case (PostgresType.Plain, of: DecimalType)          => Option.when(kind.name == "numeric")(new DecimalReader(of))
    case (PostgresType.Plain, of) if isNative(kind, of) => natives.get(kind.name)
    case _                                              => None
  }

  /** DECIMAL has up to 38 digits; all of them may be behind the point. */
  private def decimal(kind: PostgresType): Option[DecimalType] = kind.numeric.collect {
    case (precision, scale) if precision <= DecimalType.MAX_PRECISION && scale >= 0 && scale <= precision =>
      DecimalType(precision, scale)
  }

  /** `regclass` and the other `reg…` types store an OID and print a name. */
  private def isCatalogName(kind: PostgresType): Boolean = kind.name.startsWith("reg")

  private val Natives: Map[String, DataType] = Map(
    "bool" -> BooleanType,
    "int2" -> ShortType,
    "int4" -> IntegerType,
    "int8" -> LongType,
    "float4" -> FloatType,
    "float8" -> DoubleType,
    "bytea" -> BinaryType,
    "date" -> DateType,
    "timestamp" -> TimestampNTZType,
    "timestamptz" -> TimestampType
  )

  private def isNative(kind: PostgresType, to: DataType): Boolean = Natives.get(kind.name).contains(to)

  private def natives: Map[String, ValueReader] = Map(
    "bool" -> BooleanReader,
    "int2" -> ShortReader,
    "int4" -> IntReader,
    "int8" -> LongReader,
    "float4" -> FloatReader,
    "float8" -> DoubleReader,
    "bytea" -> BytesReader,
    "date" -> DateReader,
    "timestamp" -> new TimestampReader(isZoned = false),
    "timestamptz" -> new TimestampReader(isZoned = true)
  )

  /** Types whose binary form is their text, or quickly becomes it. */
  private def texts: Map[String, ValueReader] =
    Seq("text", "varchar", "bpchar", "name", "citext", "json", "xml").map(_ -> TextReader).toMap ++ Map(
      "jsonb" -> JsonbReader,
      "uuid" -> UuidReader,
      "numeric" -> NumericTextReader,
      "oid" -> UnsignedReader,
      "xid" -> UnsignedReader,
      "cid" -> UnsignedReader)
}

/** Types whose texts only the server makes. */
private object PrintedReader extends PrintedReader

private class PrintedReader extends AsPrinted {
  override def hasBinary: Boolean = false
  override def binary(bytes: Array[Byte], offset: Int, length: Int): Any =
    throw new IllegalStateException("a binary value of a type that is read as text")
}

/** A composite value as JSON: the text of `row_to_json`. hstore, which that casts to an object, stays a text.
  *
  * NULL stands for attributes that the type has gained since the value was stored.
  */
final private class JsonReader(kind: PostgresType) extends PrintedReader {
  private val form = JsonForm(kind)
  private val out = new ByteArrayOutputStream

  override def text(bytes: Array[Byte], offset: Int, length: Int): Any = {
    out.reset()
    form.write(bytes, offset, length, out)
    UTF8String.fromBytes(out.toByteArray)
  }
}
