package io.epochal.kit.json

import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.time.{LocalDate, Month, Year}
import java.util.Arrays

/** Numbers as they are mostly written. */
private[epochal] object PlainNumber {

  /** Sentinel: no whole number in fast-path form. */
  final val NotWhole = Long.MinValue

  final private val MaxDigits = 18
  final private val ExactMantissa = 1L << 53
  private val ExactPowers = Array.iterate(1.0, 23)(_ * 10)

  /** Reads a whole number of at most 18 digits that has neither fraction nor exponent.
    *
    * @return
    *   `NotWhole`: something else stands here, and `scan` anywhere
    */
  def whole(scan: JsonScan): Long = {
    val bytes = scan.bytes
    val negative = scan.here == '-'
    val first = if (negative) scan.at + 1 else scan.at
    val end = math.min(scan.until, first + MaxDigits + 1)
    var i = first
    var value = 0L
    while (i < end && JsonScan.isDigit(bytes(i).toInt)) {
      value = value * 10 + (bytes(i) - '0')
      i += 1
    }
    // Nothing that ends a record is left out: where the bytes end here, they are in doubt.
    val plain = i > first && i < end && !continuesNumber(bytes(i)) && (bytes(first) != '0' || i == first + 1)
    scan.at = i
    if (!plain) NotWhole else if (negative) -value else value
  }

  /** Whether a number has more than the digits before this byte. */
  private def continuesNumber(byte: Byte): Boolean = byte == '.' || byte == 'e' || byte == 'E'

  /** Reads a number, rounded as [[java.lang.Double#parseDouble]] rounds it.
    *
    * @return
    *   NaN: something else stands here, or a negative zero, or more than a double can be; `scan` stands anywhere
    */
  def double(scan: JsonScan): Double = {
    val from = scan.at
    if (!scan.number()) Double.NaN
    else {
      val bytes = scan.bytes
      val negative = bytes(from) == '-'
      var i = if (negative) from + 1 else from
      var mantissa = 0L
      var digits = 0
      var point = -1
      while (i < scan.at && (JsonScan.isDigit(bytes(i).toInt) || bytes(i) == '.')) {
        if (bytes(i) == '.') point = digits
        else {
          mantissa = mantissa * 10 + (bytes(i) - '0')
          digits += 1
        }
        i += 1
      }
      val decimals = if (point < 0) 0 else digits - point
      if (i == scan.at && digits <= MaxDigits && mantissa < ExactMantissa && decimals < ExactPowers.length) {
        // Both are exact, so their quotient is rounded once.
        if (mantissa == 0 && negative) Double.NaN
        else if (negative) -mantissa / ExactPowers(decimals)
        else mantissa / ExactPowers(decimals)
      } else if (point < 0 && i == scan.at) Double.NaN
      else {
        val value = java.lang.Double.parseDouble(new String(bytes, from, scan.at - from, ISO_8859_1))
        if (value.isInfinite) Double.NaN else value
      }
    }
  }
}

/** Strings that are written with escapes. */
private[epochal] object PlainText {

  /** The string between two bytes, which `scan` has passed over, in UTF-8. */
  def unescaped(scan: JsonScan, from: Int, until: Int): Array[Byte] = {
    val bytes = scan.bytes
    val text = new Array[Byte](until - from) // An escape is longer than what it stands for.
    var length = 0
    var i = from
    while (i < until)
      if (bytes(i) != '\\') {
        text(length) = bytes(i)
        length += 1
        i += 1
      } else if (bytes(i + 1) != 'u') {
        text(length) = bytes(i + 1) match {
          case 'b'  => '\b'
          case 'f'  => '\f'
          case 'n'  => '\n'
          case 'r'  => '\r'
          case 't'  => '\t'
          case self => self
        }
        length += 1
        i += 2
      } else {
        val unit = scan.hex(i + 2).toChar
        val paired = Character.isHighSurrogate(unit)
        val point = if (paired) Character.toCodePoint(unit, scan.hex(i + 8).toChar) else unit.toInt
        val character = Character.toString(point).getBytes(UTF_8)
        System.arraycopy(character, 0, text, length, character.length)
        length += character.length
        i += (if (paired) 12 else 6)
      }
    Arrays.copyOf(text, length)
  }
}

/** Dates and moments as ISO 8601 mostly writes them, years 1 to 9999. */
private[epochal] object PlainTime {

  /** Sentinels: no date, and no timestamp, in fast-path form. */
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
