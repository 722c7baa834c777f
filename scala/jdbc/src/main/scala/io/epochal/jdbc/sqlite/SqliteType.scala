package io.epochal.jdbc.sqlite

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Locale

import org.apache.spark.sql.types._

import io.epochal.jdbc.database.{BoundColumn, ColumnType, TypeRules}
import io.epochal.jdbc.insert.{Binder, IsoBytes, IsoTime, ValueCheck, ValueRules}
import io.epochal.jdbc.json.{JsonColumn, JsonValue}
import io.epochal.jdbc.row.NulCharacter

/** A column's affinity: how SQLite converts the values stored in it ("Datatypes In SQLite", 3.1). */
object Affinity extends Enumeration {
  val Integer, Text, Blob, Real, Numeric = Value

  /** @param strict
    *   the table is STRICT: only then ANY is a type that keeps values unchanged
    */
  def of(declared: String, strict: Boolean = false): Value = {
    val name = declared.toUpperCase(Locale.ROOT)
    def has(words: String*): Boolean = words.exists(name.contains)
    if (has("INT")) Integer
    else if (has("CHAR", "CLOB", "TEXT")) Text
    else if (name.isEmpty || has("BLOB") || strict && name == "ANY") Blob
    else if (has("REAL", "FLOA", "DOUB")) Real
    else Numeric
  }
}

/** @param sortsTexts
  *   the database's encoding is UTF-8, compared by bytes; UTF-16 sorts differently
  */
final case class SqliteType(declared: String, affinity: Affinity.Value, sortsTexts: Boolean = true) extends ColumnType

/** Which Spark types each column can store, and in which form. */
object SqliteType extends TypeRules {
  import Affinity._

  def of(declared: String, strict: Boolean = false, sortsTexts: Boolean = true): SqliteType =
    SqliteType(declared, Affinity.of(declared, strict), sortsTexts)

  /** Decimals of up to so many digits are exact as floating-point numbers. */
  private val DigitsOfReal = 15

  override val exactKey = "COLLATE BINARY, which is the default"

  override def declare(dataType: DataType): Option[String] = Option(dataType).collect {
    case BooleanType | ByteType | ShortType | IntegerType | LongType => "INTEGER"
    case FloatType | DoubleType                                      => "REAL"
    case _: DecimalType                                              => "TEXT"
    case _: StringType | _: CharType | _: VarcharType                => "TEXT"
    case BinaryType                                                  => "BLOB"
    case DateType | TimestampType | TimestampNTZType                 => "TEXT"
    case nested if isNested(nested) && JsonValue.supports(nested)    => "TEXT"
  }

  /** Types that are stored as JSON. */
  def isNested(dataType: DataType): Boolean = dataType match {
    case _: ArrayType | _: MapType | _: StructType | VariantType => true
    case _                                                       => false
  }

  /** SQLite converts stored values to the column's affinity: these pairs lose nothing. */
  private def homes(dataType: DataType): Set[Affinity.Value] = dataType match {
    case BooleanType | LongType                        => Set(Integer, Numeric, Blob)
    case ByteType | ShortType | IntegerType            => Set(Integer, Numeric, Blob, Real)
    case FloatType | DoubleType                        => Set(Real, Numeric, Blob)
    case d: DecimalType if d.precision <= DigitsOfReal => Set(Text, Blob, Numeric, Real)
    case _: DecimalType                                => Set(Text, Blob)
    case _: StringType | _: CharType | _: VarcharType  => Set(Text, Blob)
    case BinaryType                                    => Set(Blob)
    case DateType | TimestampType | TimestampNTZType   => Set(Text, Blob, Numeric)
    case nested if isNested(nested)                    => Set(Text, Blob)
    case _                                             => Set.empty
  }

  override def takes(dataType: DataType, columnType: ColumnType): Boolean =
    homes(dataType)(columnType.asInstanceOf[SqliteType].affinity)

  override protected def casts(columnType: ColumnType): Seq[DataType] = Seq(DoubleType, LongType, StringType)

  /** Decimals stored as text sort as text, not by value. */
  override def sorts(dataType: DataType, columnType: ColumnType): Boolean = {
    val column = columnType.asInstanceOf[SqliteType]
    dataType match {
      case _: DecimalType                               => column.affinity == Numeric || column.affinity == Real
      case _: StringType | _: CharType | _: VarcharType => column.sortsTexts
      case nested                                       => !isNested(nested)
    }
  }
}

/** How SQLite stores values. */
private[sqlite] object SqliteRules extends ValueRules {

  override def check(column: BoundColumn, nul: NulCharacter): Option[ValueCheck] = column.field.dataType match {
    case FloatType  => Some((row, c) => if (row.getFloat(c).isNaN) NotANumber else null)
    case DoubleType => Some((row, c) => if (row.getDouble(c).isNaN) NotANumber else null)
    case _: StringType | _: CharType | _: VarcharType => Some(ValueCheck.text(nul))
    case nested if SqliteType.isNested(nested) =>
      val json = new JsonColumn(column, nul)
      Some((row, _) => json.problem(row))
    case DateType                         => Some(ValueCheck.date)
    case TimestampType | TimestampNTZType => Some(ValueCheck.timestamp(1))
    case _                                => None
  }

  /** Whether values are bound as bytes: texts are UTF-8 in Spark's rows and in the database, so that neither driver nor binder
    * has to decode and encode them.
    */
  private def asBytes(column: BoundColumn): Boolean = column.field.dataType match {
    case _: StringType | _: CharType | _: VarcharType | DateType | TimestampType | TimestampNTZType =>
      column.column.columnType.asInstanceOf[SqliteType].sortsTexts
    case _ => false
  }

  override def parameter(column: BoundColumn): String = if (asBytes(column)) "CAST(? AS TEXT)" else "?"

  override def binder(column: BoundColumn, nul: NulCharacter): Binder =
    if (asBytes(column)) bytes(column, nul) else plain(column, nul)

  private def bytes(column: BoundColumn, nul: NulCharacter): Binder = column.field.dataType match {
    case DateType =>
      val iso = new IsoBytes
      (s, i, row, c) => {
        val text = new Array[Byte](IsoBytes.DateLength)
        iso.date(row.getInt(c).toLong, text, 0)
        s.setBytes(i, text)
      }
    case TimestampType | TimestampNTZType =>
      val iso = new IsoBytes
      val isInstant = column.field.dataType == TimestampType
      (s, i, row, c) => {
        val text = new Array[Byte](IsoBytes.TimestampLength + (if (isInstant) 1 else 0))
        iso.timestamp(row.getLong(c), text, 0)
        if (isInstant) text(IsoBytes.TimestampLength) = 'Z'
        s.setBytes(i, text)
      }
    case _ if nul == NulCharacter.Error => (s, i, row, c) => s.setBytes(i, row.getBinary(c))
    case _ => (s, i, row, c) => s.setBytes(i, nul(row.getUTF8String(c).toString).getBytes(UTF_8))
  }

  private def plain(column: BoundColumn, nul: NulCharacter): Binder = column.field.dataType match {
    case BooleanType => (s, i, row, c) => s.setInt(i, if (row.getBoolean(c)) 1 else 0)
    case FloatType   => (s, i, row, c) => s.setDouble(i, row.getFloat(c).toDouble)
    case d: DecimalType =>
      (s, i, row, c) => s.setString(i, row.getDecimal(c, d.precision, d.scale).toJavaBigDecimal.toPlainString)
    case DateType         => (s, i, row, c) => s.setString(i, IsoTime.date(row.getInt(c)))
    case TimestampType    => (s, i, row, c) => s.setString(i, IsoTime.timestamp(row.getLong(c), "Z"))
    case TimestampNTZType => (s, i, row, c) => s.setString(i, IsoTime.timestamp(row.getLong(c), ""))
    case nested if SqliteType.isNested(nested) =>
      val json = new JsonColumn(column, nul)
      (s, i, row, _) => s.setString(i, json.text(row))
    case other => Binder.plain(other, nul)
  }

  private val NotANumber = "SQLite has no NaN and would store NULL"
}
