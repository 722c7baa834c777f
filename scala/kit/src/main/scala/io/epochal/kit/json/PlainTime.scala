package io.epochal.kit.json

import java.time.{LocalDate, Month, Year}

/** Dates and moments as ISO 8601 mostly writes them, years 1 to 9999. */
private[epochal] object PlainTime {

  /** What no day and no moment is. */
  final val NoDay = Int.MinValue
  final val NoMoment = Long.MinValue

  /** Bytes of a day: 2026-01-31 */
  final val DayLength = 10

  final private val SecondLength = 19
  final private val MaxDecimals = 6
  final private val NoNumber = -1000000

  /** The days since 1970-01-01 of the day that begins at `from`. */
  def day(bytes: Array[Byte], from: Int): Int = {
    val year = number(bytes, from, 4)
    val month = number(bytes, from + 5, 2)
    val day = number(bytes, from + 8, 2)
    val separated = bytes(from + 4) == '-' && bytes(from + 7) == '-'
    if (separated && year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= Month
        .of(month)
        .length(Year.isLeap(year.toLong)))
      LocalDate.of(year, month, day).toEpochDay.toInt
    else NoDay
  }

  /** The microseconds since 1970-01-01T00:00:00Z of a moment in UTC, as 2026-01-31T23:59:59.999999Z, of which the decimals may
    * lack from the right.
    */
  def micros(bytes: Array[Byte], from: Int, until: Int): Long = {
    val decimals = until - from - SecondLength - 2
    if (decimals == 0 || decimals < -1 || decimals > MaxDecimals || bytes(until - 1) != 'Z') NoMoment
    else {
      val days = day(bytes, from)
      val hour = number(bytes, from + 11, 2)
      val minute = number(bytes, from + 14, 2)
      val second = number(bytes, from + 17, 2)
      val separated = bytes(from + 10) == 'T' && bytes(from + 13) == ':' && bytes(from + 16) == ':' &&
        (decimals < 0 || bytes(from + SecondLength) == '.')
      var fraction = if (decimals < 0) 0 else number(bytes, from + SecondLength + 1, decimals)
      val valid = separated && days != NoDay && hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 &&
        second < 60 && fraction >= 0
      if (!valid) NoMoment
      else {
        var i = math.max(decimals, 0)
        while (i < MaxDecimals) {
          fraction *= 10
          i += 1
        }
        (((days * 24L + hour) * 60 + minute) * 60 + second) * 1000000 + fraction
      }
    }
  }

  /** Negative where a byte is no digit. */
  private def number(bytes: Array[Byte], from: Int, digits: Int): Int = {
    var value = 0
    var i = from
    while (i < from + digits) {
      val digit = bytes(i) - '0'
      value = if (value < 0 || digit < 0 || digit > 9) NoNumber else value * 10 + digit
      i += 1
    }
    value
  }
}
