package io.epochal.jdbc.insert

import java.sql.PreparedStatement
import java.time.{LocalDate, LocalDateTime, ZoneOffset}

import scala.annotation.unused

import org.apache.spark.sql.types._

import io.epochal.jdbc.database.BoundColumn
import io.epochal.jdbc.row.{CharacterSet, NulCharacter, StoredText}
import io.epochal.kit.spark.memory.BinaryRow

/** How values of Spark's types become statement parameters in one database. Serialized to the tasks. */
trait ValueRules extends Serializable {

  /** The check that a task makes on values of the column; None: every value can be stored. */
  def check(column: BoundColumn, nul: NulCharacter): Option[ValueCheck]

  /** SQL for the column's parameter. */
  def parameter(@unused column: BoundColumn): String = "?"

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
  def text(nul: NulCharacter): ValueCheck = text(nul, None)

  /** Finds characters that the column lacks, too. */
  private[jdbc] def text(nul: NulCharacter, characters: Option[CharacterSet]): ValueCheck = {
    val text = new StoredText(nul, characters.orNull)
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

/** The same texts as [[IsoTime]] writes, as ASCII. Remembers the last day, which many rows share; for one thread. */
final private[jdbc] class IsoBytes {
  import IsoBytes._

  private var day = Long.MinValue
  private val ofDay = new Array[Byte](DateLength)

  /** Writes `2026-01-31`. */
  def date(days: Long, into: Array[Byte], at: Int): Unit = {
    if (days != day) {
      val date = LocalDate.ofEpochDay(days)
      digits(ofDay, 0, 4, date.getYear)
      ofDay(4) = '-'
      digits(ofDay, 5, 2, date.getMonthValue)
      ofDay(7) = '-'
      digits(ofDay, 8, 2, date.getDayOfMonth)
      day = days
    }
    System.arraycopy(ofDay, 0, into, at, DateLength)
  }

  /** Writes `2026-01-31T12:30:00.123456`. */
  def timestamp(micros: Long, into: Array[Byte], at: Int): Unit = {
    date(Math.floorDiv(micros, MicrosPerDay), into, at)
    val within = Math.floorMod(micros, MicrosPerDay)
    val seconds = (within / 1000000L).toInt
    into(at + 10) = 'T'
    digits(into, at + 11, 2, seconds / 3600)
    into(at + 13) = ':'
    digits(into, at + 14, 2, seconds / 60 % 60)
    into(at + 16) = ':'
    digits(into, at + 17, 2, seconds % 60)
    into(at + 19) = '.'
    digits(into, at + 20, 6, (within % 1000000L).toInt)
  }

  private def digits(into: Array[Byte], at: Int, count: Int, value: Int): Unit = {
    var rest = value
    var place = at + count - 1
    while (place >= at) {
      into(place) = ('0' + rest % 10).toByte
      rest /= 10
      place -= 1
    }
  }
}

private[jdbc] object IsoBytes {
  val DateLength = 10
  val TimestampLength = 26
  private val MicrosPerDay = 86400L * 1000000L
}
