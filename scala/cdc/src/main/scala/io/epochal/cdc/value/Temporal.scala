package io.epochal.cdc.value

import java.time.LocalDate

import org.postgresql.util.ByteConverter

/** Days since 1970-01-01, of both calendars' proleptic Gregorian years. Spark holds all of PostgreSQL's finite dates. */
private object DateReader extends ValueReader {

  override def binary(bytes: Array[Byte], offset: Int, length: Int): Any = {
    val days = ByteConverter.int4(bytes, offset)
    if (days == Int.MaxValue || days == Int.MinValue) Temporal.infinite(days > 0)
    days + Temporal.EpochDays
  }

  override def text(bytes: Array[Byte], offset: Int, length: Int): Any = {
    Temporal.finite(bytes, offset)
    val end = Temporal.withoutEra(bytes, offset, length)
    Temporal.days(bytes, offset, end, isBeforeChrist = end < offset + length)
  }
}

/** Microseconds since 1970-01-01 00:00:00. Spark's end earlier than PostgreSQL's. */
final private class TimestampReader(isZoned: Boolean) extends ValueReader {

  override def binary(bytes: Array[Byte], offset: Int, length: Int): Any = {
    val micros = ByteConverter.int8(bytes, offset)
    if (micros == Long.MaxValue || micros == Long.MinValue) Temporal.infinite(micros > 0)
    if (micros > Long.MaxValue - Temporal.EpochMicros) Temporal.tooLate()
    micros + Temporal.EpochMicros
  }

  /** `2026-01-31 23:59:59.999999+00 BC`: up to six decimals; the zone and the era where there is one. */
  override def text(bytes: Array[Byte], offset: Int, length: Int): Any = {
    Temporal.finite(bytes, offset)
    val era = Temporal.withoutEra(bytes, offset, length)
    val end = if (isZoned) era - 3 else era
    if (isZoned && !(bytes(end) == '+' && bytes(end + 1) == '0' && bytes(end + 2) == '0'))
      throw new IllegalStateException("TimeZone of the session is not UTC")
    var blank = offset
    while (bytes(blank) != ' ') blank += 1
    val days = Temporal.days(bytes, offset, blank, isBeforeChrist = era < offset + length)
    val time = blank + 1
    val seconds = Numbers.digits(bytes, time, time + 2) * 3600 + Numbers.digits(bytes, time + 3, time + 5) * 60 +
      Numbers.digits(bytes, time + 6, time + 8)
    var micros = 0L
    var i = time + 9
    while (i < time + 15) {
      micros = micros * 10 + (if (i < end) bytes(i) - '0' else 0)
      i += 1
    }
    try Math.addExact(Math.multiplyExact(days.toLong, Temporal.DayMicros), seconds * 1000000L + micros)
    catch { case _: ArithmeticException => Temporal.tooLate() }
  }
}

private object Temporal {
  final val DayMicros = 86400000000L

  /** From 1970-01-01 to 2000-01-01, where PostgreSQL's counting begins. */
  final val EpochDays = 10957
  final val EpochMicros = EpochDays * DayMicros

  def infinite(isPositive: Boolean): Nothing =
    throw new UnreadableValue(if (isPositive) "it is infinity" else "it is -infinity")

  def tooLate(): Nothing =
    throw new UnreadableValue("it is later than 294247-01-10 04:00:54.775807, where Spark's timestamps end")

  /** Refuses `infinity` and `-infinity`. */
  def finite(bytes: Array[Byte], offset: Int): Unit =
    if (bytes(offset) == 'i' || bytes(offset) == '-') infinite(bytes(offset) == 'i')

  /** Where the text ends, without ` BC`. */
  def withoutEra(bytes: Array[Byte], offset: Int, length: Int): Int =
    if (bytes(offset + length - 1) == 'C') offset + length - 3 else offset + length

  /** Parses a year of four or more digits, month and day. 1 BC is the year 0. */
  def days(bytes: Array[Byte], from: Int, until: Int, isBeforeChrist: Boolean): Int = {
    if (bytes(until - 6) != '-' || bytes(until - 3) != '-')
      throw new IllegalStateException("DateStyle of the session is not ISO")
    val year = Numbers.digits(bytes, from, until - 6)
    val month = Numbers.digits(bytes, until - 5, until - 3)
    val day = Numbers.digits(bytes, until - 2, until)
    LocalDate.of(if (isBeforeChrist) 1 - year else year, month, day).toEpochDay.toInt
  }
}
