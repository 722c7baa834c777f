package io.epochal.jdbc.mysql

import java.sql.Connection

import org.apache.spark.sql.types._

import io.epochal.jdbc.database.{TargetColumn, TypeRules}
import io.epochal.jdbc.row.CharacterSet
import io.epochal.kit.database.ColumnType

/** A column's type as listed in the information schema.
  *
  * @param name
  *   `varchar`
  * @param declaration
  *   `varchar(20)`, `int unsigned`
  * @param length
  *   characters, or bytes of a binary type; None: 2 GiB or more
  * @param bytes
  *   maximum length in bytes
  * @param fraction
  *   fractional second digits
  * @param collation
  *   null if the column is not a text
  * @param increments
  *   the server numbers rows that have no value for it
  * @param characters
  *   those that it has, where its character set lacks some of Unicode
  */
final case class MysqlType(
    name: String,
    declaration: String,
    length: Option[Int],
    bytes: Option[Int],
    precision: Int,
    scale: Int,
    fraction: Int,
    collation: String,
    increments: Boolean = false,
    characters: Option[CharacterSet] = None
) extends ColumnType {
  def unsigned: Boolean = declaration.contains("unsigned")
  def isText: Boolean = collation != null

  /** The collation, if it treats as equal texts that Spark distinguishes. All but a few collations pad texts with spaces for
    * comparison (PAD SPACE).
    */
  def loose: Option[String] = Option(collation).filterNot(MysqlType.isExact).map("collation " + _)
}

/** Which Spark types each column type can store. */
object MysqlType extends TypeRules {

  def of(column: TargetColumn): MysqlType = column.columnType.asInstanceOf[MysqlType]

  private val Utf8 = "CHARACTER SET utf8mb4"

  override def declare(dataType: DataType): Option[String] = Option(dataType).collect {
    case BooleanType    => "boolean"
    case ByteType       => "tinyint"
    case ShortType      => "smallint"
    case IntegerType    => "int"
    case LongType       => "bigint"
    case FloatType      => "float"
    case DoubleType     => "double"
    case d: DecimalType => s"decimal(${d.precision},${d.scale})"
    case c: CharType    => s"varchar(${c.length}) $Utf8"
    case v: VarcharType => s"varchar(${v.length}) $Utf8"
    case _: StringType  => s"longtext $Utf8"
    case BinaryType     => "longblob"
    case DateType       => "date"
    // Explicit NULL: otherwise MySQL makes the first such column NOT NULL and updates it with every change.
    case TimestampType    => "timestamp(6) NULL"
    case TimestampNTZType => "datetime(6)"
  }

  /** Collations that compare bytes without PAD SPACE: MariaDB's, and MySQL's since 8.0.17. */
  val ExactCollations: Seq[String] = Seq("utf8mb4_nopad_bin", "utf8mb4_0900_bin")

  private def isExact(collation: String): Boolean =
    collation == "binary" || collation.endsWith("_nopad_bin") || collation.endsWith("_0900_bin")

  /** Large objects cannot be keys; texts are compared byte by byte, as in Spark. */
  override def declareKey(dataType: DataType): Option[String] = declareKey(dataType, ExactCollations.head)
  override def declareKey(connection: Connection, dataType: DataType): Option[String] =
    declareKey(dataType, MysqlCatalog.exactCollation(connection))
  override val exactKey: String =
    "CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin in MariaDB, utf8mb4_0900_bin in MySQL from 8.0.17 on"

  private def declareKey(dataType: DataType, collation: => String): Option[String] = dataType match {
    case c: CharType    => Some(s"varchar(${c.length}) $Utf8 COLLATE $collation")
    case v: VarcharType => Some(s"varchar(${v.length}) $Utf8 COLLATE $collation")
    case _: StringType  => Some(s"varchar(255) $Utf8 COLLATE $collation")
    case BinaryType     => Some("varbinary(255)")
    case TimestampType  => Some("timestamp(6) DEFAULT '1970-01-01 00:00:01'")
    case _              => declare(dataType)
  }

  private val Integers = Seq("tinyint", "smallint", "mediumint", "int", "bigint")
  private val Texts = Set("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "json")
  private val Blobs = Set("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob")

  override def takes(dataType: DataType, columnType: ColumnType): Boolean = {
    val column = columnType.asInstanceOf[MysqlType]
    def integer(least: String): Boolean = Integers.drop(Integers.indexOf(least)).contains(column.name)
    def digits(count: Int): Boolean = column.name == "decimal" && column.precision - column.scale >= count
    dataType match {
      case BooleanType    => integer("tinyint") || column.declaration == "bit(1)"
      case ByteType       => integer("tinyint") || digits(3)
      case ShortType      => integer("smallint") || digits(5)
      case IntegerType    => integer("int") || digits(10)
      case LongType       => integer("bigint") || digits(19)
      case FloatType      => column.declaration == "float" || column.declaration == "double" // float(m,d) rounds
      case DoubleType     => column.declaration == "double"
      case d: DecimalType => digits(d.precision - d.scale) && d.scale <= column.scale
      case _: StringType | _: CharType | _: VarcharType => Texts(column.name)
      case BinaryType                                   => Blobs(column.name)
      case DateType                                     => column.name == "date"
      case TimestampType                                => column.name == "timestamp"
      case TimestampNTZType                             => column.name == "datetime"
      case _                                            => false
    }
  }

  override def widening(field: StructField, columnType: ColumnType): Option[String] = {
    val column = columnType.asInstanceOf[MysqlType]
    val isWider = field.dataType match {
      case d: DecimalType =>
        column.name == "decimal" && d.scale >= column.scale && d.precision - d.scale >= column.precision - column.scale
      case ShortType | IntegerType | LongType => Integers.contains(column.name) && !column.unsigned
      case DoubleType                         => column.declaration == "float"
      case _                                  => false
    }
    declare(field.dataType).filter(_ => isWider && !takes(field.dataType, column))
  }

  /** True for texts as well: a load sorts them by their bytes. */
  override def sorts(dataType: DataType, columnType: ColumnType): Boolean =
    columnType.asInstanceOf[MysqlType].name != "json"

  override protected def casts(columnType: ColumnType): Seq[DataType] = columnType match {
    case column: MysqlType if column.name == "decimal" => Seq(decimal(column.precision, column.scale))
    case _                                             => super.casts(columnType)
  }
}
