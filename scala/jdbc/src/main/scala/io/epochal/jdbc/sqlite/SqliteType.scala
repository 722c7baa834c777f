package io.epochal.jdbc.sqlite

import java.util.Locale

import org.apache.spark.sql.types._

import io.epochal.jdbc.database.{BoundColumn, ColumnType, TypeRules}
import io.epochal.jdbc.insert.{Binder, IsoTime, ValueCheck, ValueRules}
import io.epochal.jdbc.json.{JsonColumn, JsonValue}
import io.epochal.jdbc.row.NulCharacter

/** What SQLite does to values that are stored in a column ("Datatypes In SQLite", 3.1). */
sealed trait Affinity

object Affinity {
  case object Integer extends Affinity
  case object Text extends Affinity
  case object Blob extends Affinity
  case object Real extends Affinity
  case object Numeric extends Affinity

  /** @param strict
    *   of the table: only there ANY is a type, which keeps values as they are
    */
  def of(declared: String, strict: Boolean = false): Affinity = {
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
  *   the database keeps texts in UTF-8, whose bytes it compares; UTF-16 sorts otherwise
  */
final case class SqliteType(declared: String, affinity: Affinity, sortsTexts: Boolean = true) extends ColumnType

/** Which Spark types go where, and as what they are stored. */
object SqliteType extends TypeRules {
  import Affinity._

  def of(declared: String, strict: Boolean = false, sortsTexts: Boolean = true): SqliteType =
    SqliteType(declared, Affinity.of(declared, strict), sortsTexts)

  /** A decimal of so many digits is kept by a floating-point number. */
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

  /** What is stored as JSON. */
  def isNested(dataType: DataType): Boolean = dataType match {
    case _: ArrayType | _: MapType | _: StructType | VariantType => true
    case _                                                       => false
  }

  /** SQLite converts what is stored to the column's affinity: these pairs keep every value. */
  private def homes(dataType: DataType): Set[Affinity] = dataType match {
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

  override def fits(dataType: DataType, columnType: ColumnType): Either[Option[String], Unit] = {
    val affinity = columnType.asInstanceOf[SqliteType].affinity
    Either.cond(homes(dataType)(affinity), (), Some(suggestion(affinity)))
  }

  private def suggestion(affinity: Affinity): String = affinity match {
    case Integer        => "BIGINT"
    case Text           => "STRING"
    case Blob           => "BINARY"
    case Real | Numeric => "DOUBLE"
  }

  /** Decimals that stand there as text sort as text. */
  override def sorts(dataType: DataType, columnType: ColumnType): Boolean = {
    val column = columnType.asInstanceOf[SqliteType]
    dataType match {
      case _: DecimalType                               => column.affinity == Numeric || column.affinity == Real
      case _: StringType | _: CharType | _: VarcharType => column.sortsTexts
      case nested                                       => !isNested(nested)
    }
  }
}

/** Values as SQLite keeps them. */
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

  override def binder(column: BoundColumn, nul: NulCharacter): Binder = column.field.dataType match {
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
