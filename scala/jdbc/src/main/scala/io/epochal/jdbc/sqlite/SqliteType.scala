package io.epochal.jdbc.sqlite

import java.util.Locale

import org.apache.spark.sql.types._

import io.epochal.jdbc.database.TypeRules
import io.epochal.jdbc.json.JsonValue
import io.epochal.kit.database.ColumnType

/** @param sortsTexts
  *   the database's encoding is UTF-8, compared by bytes; UTF-16 sorts differently
  */
final case class SqliteType(declaration: String, affinity: Affinity.Value, sortsTexts: Boolean = true)
    extends ColumnType

/** Which Spark types each column can store, and in which form. */
object SqliteType extends TypeRules {
  import Affinity._

  def of(declaration: String, strict: Boolean = false, sortsTexts: Boolean = true): SqliteType =
    SqliteType(declaration, Affinity.of(declaration, strict), sortsTexts)

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

/** A column's affinity: how SQLite converts the values stored in it ("Datatypes In SQLite", 3.1). */
private[sqlite] object Affinity extends Enumeration {
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
