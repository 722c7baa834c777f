package io.epochal.jdbc.insert

import java.sql.PreparedStatement
import java.time.{LocalDate, LocalDateTime, ZoneOffset}

import org.apache.spark.sql.types._

import io.epochal.jdbc.database.BoundColumn
import io.epochal.jdbc.row.{NulCharacter, StoredText}
import io.epochal.kit.spark.memory.BinaryRow

/** How values of Spark's types become statement parameters in one database. Serialized to the tasks. */
trait ValueRules extends Serializable {

  /** The check that a task makes on values of the column; None: every value can be stored. */
  def check(column: BoundColumn, nul: NulCharacter): Option[ValueCheck]

  /** How the driver binds a parameter for the column. */
  def binder(column: BoundColumn, nul: NulCharacter): Binder
}

/** Checks non-NULL values. Allocates nothing for a good value. */
trait ValueCheck {

  /** Why the value cannot be stored; null if it can. */
  def problem(row: BinaryRow, ordinal: Int): String
}

object ValueCheck {

  /** Finds broken UTF-8, and NUL characters if they are errors. One instance per task. */
  def text(nul: NulCharacter): ValueCheck = {
    val text = new StoredText(nul)
    (row, ordinal) => text.take(row.base, row.address(ordinal), row.length(ordinal))
  }

  val float: ValueCheck = (row, ordinal) => if (java.lang.Float.isFinite(row.getFloat(ordinal))) null else NotFinite
  val double: ValueCheck = (row, ordinal) => if (java.lang.Double.isFinite(row.getDouble(ordinal))) null else NotFinite
  private val NotFinite = "the database has no NaN and no infinity"

  val date: ValueCheck = (row, ordinal) => outside(row.getInt(ordinal).toLong, IsoTime.FirstDay, IsoTime.LastDay)

  /** @param unit
    *   the column's resolution in microseconds
    */
  def timestamp(unit: Long): ValueCheck = (row, ordinal) => {
    val micros = row.getLong(ordinal)
    if (micros % unit != 0) s"the column keeps no fraction of a second finer than $unit microseconds"
    else outside(micros, IsoTime.FirstMicro, IsoTime.LastMicro)
  }

  /** Drivers disagree on dates before the Gregorian calendar, so these are refused. */
  val gregorianDate: ValueCheck = (row, ordinal) => gregorian(row.getInt(ordinal).toLong, IsoTime.FirstGregorianDay)
  val gregorianTimestamp: ValueCheck = (row, ordinal) => gregorian(row.getLong(ordinal), IsoTime.FirstGregorianMicro)

  private def gregorian(value: Long, first: Long): String =
    if (value < first) "it is before 1582-10-15, where drivers differ about the calendar" else null

  /** The first of the two problems. */
  def both(first: ValueCheck, second: ValueCheck): ValueCheck = (row, ordinal) => {
    val problem = first.problem(row, ordinal)
    if (problem != null) problem else second.problem(row, ordinal)
  }

  private def outside(value: Long, first: Long, last: Long): String =
    if (value < first || value > last) "it has a year that is not from 1 to 9999" else null
}

/** Binds one parameter to a non-NULL value. */
trait Binder {
  def bind(statement: PreparedStatement, parameter: Int, row: BinaryRow, ordinal: Int): Unit
}

object Binder {

  /** Binds numbers, bytes and texts by the setters that every driver implements. */
  def plain(dataType: DataType, nul: NulCharacter): Binder = dataType match {
    case ByteType    => (s, i, row, c) => s.setInt(i, row.getByte(c).toInt)
    case ShortType   => (s, i, row, c) => s.setInt(i, row.getShort(c).toInt)
    case IntegerType => (s, i, row, c) => s.setInt(i, row.getInt(c))
    case LongType    => (s, i, row, c) => s.setLong(i, row.getLong(c))
    case FloatType   => (s, i, row, c) => s.setFloat(i, row.getFloat(c))
    case DoubleType  => (s, i, row, c) => s.setDouble(i, row.getDouble(c))
    case d: DecimalType =>
      (s, i, row, c) => s.setBigDecimal(i, row.getDecimal(c, d.precision, d.scale).toJavaBigDecimal)
    case BinaryType => (s, i, row, c) => s.setBytes(i, row.getBinary(c))
    case _          => (s, i, row, c) => s.setString(i, nul(row.getUTF8String(c).toString))
  }
}

/** Dates and times as ISO 8601 texts. Those of the years 1 to 9999 have the same length, so they sort chronologically. */
private[jdbc] object IsoTime {

  private val MicrosPerSecond = 1000000L
  val FirstDay: Long = LocalDate.of(1, 1, 1).toEpochDay
  val FirstGregorianDay: Long = LocalDate.of(1582, 10, 15).toEpochDay
  val LastDay: Long = LocalDate.of(9999, 12, 31).toEpochDay
  val FirstMicro: Long = FirstDay * 86400L * MicrosPerSecond
  val FirstGregorianMicro: Long = FirstGregorianDay * 86400L * MicrosPerSecond
  val LastMicro: Long = (LastDay + 1) * 86400L * MicrosPerSecond - 1

  /** `2026-01-31` */
  def date(days: Int): String = LocalDate.ofEpochDay(days.toLong).toString

  /** `2026-01-31T12:30:00.123456` */
  def timestamp(micros: Long, suffix: String = ""): String = {
    val fraction = Math.floorMod(micros, MicrosPerSecond)
    val time = LocalDateTime.ofEpochSecond(Math.floorDiv(micros, MicrosPerSecond), 0, ZoneOffset.UTC)
    val out = new StringBuilder(27).append(time.toLocalDate).append('T')
    digits(out, time.getHour, 10)
    digits(out.append(':'), time.getMinute, 10)
    digits(out.append(':'), time.getSecond, 10)
    digits(out.append('.'), fraction.toInt, 100000)
    out.append(suffix).toString
  }

  /** @param highest
    *   the unit of the first digit
    */
  private def digits(out: StringBuilder, value: Int, highest: Int): Unit = {
    var unit = highest
    while (unit > 0) {
      out.append(('0' + value / unit % 10).toChar)
      unit /= 10
    }
  }
}
