package io.epochal.jdbc.database

import java.sql.Connection

import scala.annotation.unused
import scala.util.Try

import org.apache.spark.sql.types._

import io.epochal.kit.database.ColumnType

/** Which Spark types each column type can store. */
trait TypeRules {

  /** The type of a new column. */
  def declare(dataType: DataType): Option[String]

  /** The type of a new column of a primary key. */
  def declareKey(dataType: DataType): Option[String] = declare(dataType)

  /** Same, on this server: a type that compares texts as Spark does. */
  def declareKey(@unused connection: Connection, dataType: DataType): Option[String] = declareKey(dataType)

  /** The types of new columns that are to be like those of a change feed, without columns for which the database has none that
    * takes all their values.
    *
    * @param columns
    *   each with whether it has to compare texts as Spark does
    */
  def declareLike(
      @unused connection: Connection,
      @unused columns: Seq[(StructField, Boolean)]): Map[StructField, String] = Map.empty

  /** The type that a column is to get, so that it takes all values that it has, and all of the query's column. None: it stays as it is,
    * or the two have no such type.
    */
  def widening(@unused field: StructField, @unused columnType: ColumnType): Option[String] = None

  /** For a hint: how to declare a column that compares texts as Spark does. */
  def exactKey: String = "a type and collation that compare byte by byte"

  /** Whether every value of the type is stored without loss or refused by the task. */
  def takes(dataType: DataType, columnType: ColumnType): Boolean

  /** The types to which values for a column can be cast, the widest first; those that it does not take are skipped. */
  protected def casts(@unused columnType: ColumnType): Seq[DataType] =
    Seq(DoubleType, FloatType, LongType, IntegerType, ShortType, ByteType, BooleanType, DateType) ++
      Seq(TimestampType, TimestampNTZType, BinaryType, StringType)

  /** The decimal type of a column, as far as Spark has it. */
  final protected def decimal(precision: Int, scale: Int): DecimalType =
    Try(DecimalType(math.min(precision, DecimalType.MAX_PRECISION), scale)).getOrElse(DecimalType.SYSTEM_DEFAULT)

  /** Whether the column takes the type; otherwise the type to cast to. */
  final def fits(dataType: DataType, columnType: ColumnType): Either[Option[String], Unit] =
    Either.cond(takes(dataType, columnType), (), casts(columnType).find(takes(_, columnType)).map(_.sql))

  /** Whether the server parses the query's texts for the column: they cannot be copied into it directly. */
  def parses(@unused dataType: DataType, @unused columnType: ColumnType): Boolean = false

  /** Whether the database sorts the stored values as Spark sorts the query's. */
  def sorts(@unused dataType: DataType, @unused columnType: ColumnType): Boolean = true
}
