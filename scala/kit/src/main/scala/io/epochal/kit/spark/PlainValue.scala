package io.epochal.kit.spark

import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.time.{LocalDate, Month, Year}
import java.util.Arrays

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.kit.json.JsonScan

/** Parses a value of one type from JSON bytes if it is in its usual form: the result then equals that of Spark's parser. */
sealed abstract private[spark] class PlainValue {

  /** Parses a value.
    *
    * @return
    *   the value or null, with `scan` after it; `Other`: it has another form, and the position of `scan` is undefined
    */
  def read(scan: JsonScan): AnyRef = if (scan.take(JsonScan.Null)) null else some(scan)

  protected def some(scan: JsonScan): AnyRef
}

private[spark] object PlainValue {

  /** Sentinel: the text is not in fast-path form. */
  val Other: AnyRef = new Object

  /** The parser for a column type. */
  def of(kind: DataType): PlainValue = kind match {
    // These may equal the string type, and be padded or too long.
    case _: CharType | _: VarcharType => Unknown
    case StringType                   => Text
    case IntegerType                  => Whole32
    case LongType                     => Whole64
    case DoubleType                   => Fraction64
    case BooleanType                  => Truth
    case DateType if !legacy          => Day
    case TimestampType if !legacy     => Moment
    case _                            => Unknown
  }

  /** Whether dates are parsed as in Spark 2. */
  private def legacy: Boolean = SQLConf.get.getConfString("spark.sql.legacy.timeParserPolicy") == "LEGACY"

  /** No fast path for these types. */
  private object Unknown extends PlainValue {
    override def read(scan: JsonScan): AnyRef = Other
    override protected def some(scan: JsonScan): AnyRef = Other
  }

  /** A string in the scanned bytes, valid as long as they are. */
  private object Text extends PlainValue {
    override protected def some(scan: JsonScan): AnyRef = {
      val from = scan.at + 1
      if (!scan.string()) Other
      else if (scan.escaped) UTF8String.fromBytes(PlainText.unescaped(scan, from, scan.at - 1))
      else UTF8String.fromBytes(scan.bytes, from, scan.at - 1 - from)
    }
  }

  private object Whole32 extends PlainValue {
    override protected def some(scan: JsonScan): AnyRef = {
      val value = PlainNumber.whole(scan)
      if (value.isValidInt) Int.box(value.toInt) else Other
    }
  }

  private object Whole64 extends PlainValue {
    override protected def some(scan: JsonScan): AnyRef = {
      val value = PlainNumber.whole(scan)
      if (value == PlainNumber.NotWhole) Other else Long.box(value)
    }
  }

  private object Fraction64 extends PlainValue {
    override protected def some(scan: JsonScan): AnyRef = {
      val value = PlainNumber.double(scan)
      if (value.isNaN) Other else Double.box(value)
    }
  }

  private object Truth extends PlainValue {
    override protected def some(scan: JsonScan): AnyRef =
      if (scan.take(JsonScan.True)) java.lang.Boolean.TRUE
      else if (scan.take(JsonScan.False)) java.lang.Boolean.FALSE
      else Other
  }

  /** "2026-01-31" */
  private object Day extends PlainValue {
    override protected def some(scan: JsonScan): AnyRef = {
      val from = scan.at + 1
      if (!scan.string() || scan.at - 1 - from != PlainTime.DayLength) Other
      else {
        val day = PlainTime.day(scan.bytes, from)
        if (day == PlainTime.NoDay) Other else Int.box(day)
      }
    }
  }

  /** "2026-01-31T23:59:59.999999Z", with up to six decimals */
  private object Moment extends PlainValue {
    override protected def some(scan: JsonScan): AnyRef = {
      val from = scan.at + 1
      if (!scan.string()) Other
      else {
        val micros = PlainTime.micros(scan.bytes, from, scan.at - 1)
        if (micros == PlainTime.NoMoment) Other else Long.box(micros)
      }
    }
  }
}

/** Parses numbers in their usual form. */
private[epochal] object PlainNumber {

  /** Sentinel: no whole number in fast-path form. */
  final val NotWhole = Long.MinValue

  final private val MaxDigits = 18
  final private val ExactMantissa = 1L << 53
  private val ExactPowers = Array.iterate(1.0, 23)(_ * 10)

  /** Parses a whole number of at most 18 digits without fraction or exponent.
    *
    * @return
    *   `NotWhole`: it is something else, and the position of `scan` is undefined
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
    // A record's terminator is always included: if the bytes end here, the number is in doubt.
    val plain = i > first && i < end && !continuesNumber(bytes(i)) && (bytes(first) != '0' || i == first + 1)
    scan.at = i
    if (!plain) NotWhole else if (negative) -value else value
  }

  /** Whether a number has more than the digits before this byte. */
  private def continuesNumber(byte: Byte): Boolean = byte == '.' || byte == 'e' || byte == 'E'

  /** Parses a number, rounded as [[java.lang.Double#parseDouble]] rounds it.
    *
    * @return
    *   NaN: it is something else, a negative zero, or outside the range of a double; the position of `scan` is undefined
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

/** Decodes strings with escapes. */
private[epochal] object PlainText {

  /** Decodes the string between two bytes, which `scan` has skipped, into UTF-8. */
  def unescaped(scan: JsonScan, from: Int, until: Int): Array[Byte] = {
    val bytes = scan.bytes
    val text = new Array[Byte](until - from) // An escape is longer than its character.
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

/** Parses dates and timestamps in their usual ISO 8601 form, years 1 to 9999. */
private[epochal] object PlainTime {

  /** Sentinels: not a date, and not a timestamp, in fast-path form. */
  final val NoDay = Int.MinValue
  final val NoMoment = Long.MinValue

  /** Bytes of a day: 2026-01-31 */
  final val DayLength = 10

  final private val SecondLength = 19
  final private val MaxDecimals = 6
  final private val NoNumber = -1000000

  /** The days since 1970-01-01 of the date that begins at `from`. */
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

  /** The microseconds since 1970-01-01T00:00:00Z of a UTC timestamp such as 2026-01-31T23:59:59.999999Z, whose decimals may be
    * omitted from the right.
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

  /** Negative if a byte is not a digit. */
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
