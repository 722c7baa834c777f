package io.epochal.cdc.value

import java.math.{BigDecimal => JavaDecimal}
import java.nio.charset.StandardCharsets.ISO_8859_1

import org.apache.spark.sql.types.{Decimal, DecimalType}
import org.apache.spark.unsafe.types.UTF8String
import org.postgresql.util.ByteConverter

/** PostgreSQL's numeric in binary form: decimal digits in groups of four.
  *
  * {{{
  *   int16 groups, int16 weight (groups before the point, less one), int16 sign or special value, int16 digits after the
  *   point, then the groups, the highest first: each an int16 from 0 to 9999
  * }}}
  *
  * The first and last group are not 0.
  */
private object NumericFormat {
  final val Header = 8
  final val Negative = 0x4000
  final private val NaN = 0xc000
  final private val Infinity = 0xd000
  final private val NegativeInfinity = 0xf000

  def groups(bytes: Array[Byte], offset: Int): Int = ByteConverter.int2(bytes, offset).toInt
  def weight(bytes: Array[Byte], offset: Int): Int = ByteConverter.int2(bytes, offset + 2).toInt
  def sign(bytes: Array[Byte], offset: Int): Int = ByteConverter.int2(bytes, offset + 4) & 0xffff
  def scale(bytes: Array[Byte], offset: Int): Int = ByteConverter.int2(bytes, offset + 6).toInt

  /** A group by its place; 0 for those that are left out. */
  def group(bytes: Array[Byte], offset: Int, index: Int): Int =
    if (index < 0 || index >= groups(bytes, offset)) 0 else ByteConverter.int2(bytes, offset + Header + 2 * index).toInt

  /** The name of a value that is not a number; null for a number. */
  def special(sign: Int): String = sign match {
    case NaN              => "NaN"
    case Infinity         => "Infinity"
    case NegativeInfinity => "-Infinity"
    case _                => null
  }
}

/** A numeric as DECIMAL. Numbers of up to 18 digits need no arithmetic beyond a long's.
  *
  * A column numeric(p,s) has values of DECIMAL(p,s) only, besides NaN. From others, values that do not fit exactly are refused.
  */
final private class DecimalReader(to: DecimalType) extends ValueReader {
  import DecimalReader._

  override def binary(bytes: Array[Byte], offset: Int, length: Int): Any = {
    val groups = NumericFormat.groups(bytes, offset)
    val weight = NumericFormat.weight(bytes, offset)
    val sign = NumericFormat.sign(bytes, offset)
    val special = NumericFormat.special(sign)
    if (special != null) refuse(s"it is $special")
    // Beyond the digits of any DECIMAL, by a quick look: numbers have up to 147,000 digits.
    if (weight >= MaxGroups) tooLarge()
    if (groups < LongGroups || groups == LongGroups && NumericFormat.group(bytes, offset, 0) < 100) {
      var digits = 0L
      var i = 0
      while (i < groups) {
        digits = digits * 10000 + ByteConverter.int2(bytes, offset + NumericFormat.Header + 2 * i)
        i += 1
      }
      shifted(sign == NumericFormat.Negative, digits, 4 * (weight - groups + 1) + to.scale)
    } else wide(NumericTextReader.digits(bytes, offset))
  }

  /** The server prints no exponents. */
  override def text(bytes: Array[Byte], offset: Int, length: Int): Any = {
    val end = offset + length
    val negative = bytes(offset) == '-'
    var i = if (negative) offset + 1 else offset
    if (bytes(i) == 'N' || bytes(i) == 'I') refuse(s"it is ${new String(bytes, offset, length, ISO_8859_1)}")
    if (end - i > LongDigits + 1) wide(new String(bytes, offset, length, ISO_8859_1))
    else {
      var digits = 0L
      var point = end - 1
      while (i < end) {
        if (bytes(i) == '.') point = i else digits = digits * 10 + (bytes(i) - '0')
        i += 1
      }
      if (digits < 0 || digits >= Powers(LongDigits)) wide(new String(bytes, offset, length, ISO_8859_1))
      else shifted(negative, digits, to.scale - (end - 1 - point))
    }
  }

  /** @param digits
    *   less than 10^18
    * @param shift
    *   powers of ten from these digits to the unscaled value
    */
  private def shifted(negative: Boolean, digits: Long, shift: Int): Decimal =
    if (digits == 0) Decimal.createUnsafe(0, to.precision, to.scale)
    else if (shift < 0) {
      val power = if (shift < -LongDigits) Long.MaxValue else Powers(-shift)
      if (digits % power != 0) tooFine()
      compact(negative, digits / power)
    } else if (shift <= LongDigits && digits < Powers(LongDigits - shift)) compact(negative, digits * Powers(shift))
    else if (shift > DecimalType.MAX_PRECISION) tooLarge()
    else decimal(new JavaDecimal(java.math.BigInteger.valueOf(if (negative) -digits else digits), to.scale - shift))

  private def compact(negative: Boolean, unscaled: Long): Decimal = {
    if (to.precision < LongDigits && unscaled >= Powers(to.precision)) tooLarge()
    Decimal.createUnsafe(if (negative) -unscaled else unscaled, to.precision, to.scale)
  }

  private def wide(text: String): Decimal =
    if (text.indexOf('.') > MaxDigits || !text.contains('.') && text.length > MaxDigits) tooLarge()
    else decimal(new JavaDecimal(text))

  private def decimal(number: JavaDecimal): Decimal = {
    val exact =
      try number.setScale(to.scale)
      catch { case _: ArithmeticException => tooFine() }
    if (exact.precision > to.precision) tooLarge()
    Decimal(exact, to.precision, to.scale)
  }

  private def tooLarge(): Nothing = refuse(s"it has more digits before the point than ${to.sql}")
  private def tooFine(): Nothing = refuse(s"it has more digits after the point than ${to.sql}")
  private def refuse(reason: String): Nothing = throw new UnreadableValue(reason)
}

private object DecimalReader {

  /** A long holds all numbers with so many digits. */
  final private val LongDigits = 18

  /** With fewer groups, a number without its point is below 10^18. */
  final private val LongGroups = 5

  /** Groups before the point, and digits with a sign, of numbers that no DECIMAL holds. */
  final private val MaxGroups = 10
  final private val MaxDigits = DecimalType.MAX_PRECISION + 1

  private val Powers = Array.iterate(1L, LongDigits + 1)(_ * 10)
}

/** A numeric with all its digits, as the server prints it. */
private object NumericTextReader extends AsPrinted {
  import NumericFormat._

  override def binary(bytes: Array[Byte], offset: Int, length: Int): Any = {
    val name = special(sign(bytes, offset))
    if (name != null) UTF8String.fromString(name) else UTF8String.fromBytes(printed(bytes, offset))
  }

  /** The text of a number. */
  def digits(bytes: Array[Byte], offset: Int): String = new String(printed(bytes, offset), ISO_8859_1)

  private def printed(bytes: Array[Byte], offset: Int): Array[Byte] = {
    val negative = if (sign(bytes, offset) == Negative) 1 else 0
    val fraction = scale(bytes, offset)
    val first = weight(bytes, offset) + 1 // of the groups after the point
    val highest = group(bytes, offset, 0)
    val whole =
      if (first <= 0) 1
      else 4 * (first - 1) + (if (highest >= 1000) 4 else if (highest >= 100) 3 else if (highest >= 10) 2 else 1)
    val printed = new Array[Byte](negative + whole + (if (fraction > 0) 1 + fraction else 0))
    if (negative > 0) printed(0) = '-'
    // Backwards, from the last digit before the point.
    put(bytes, offset, first - 1, printed, negative, negative + whole, skipped = 0)
    if (fraction > 0) {
      printed(negative + whole) = '.'
      val last = (fraction + 3) / 4
      put(bytes, offset, first + last - 1, printed, negative + whole + 1, printed.length, skipped = 4 * last - fraction)
    }
    printed
  }

  /** Fills a region backwards.
    *
    * @param last
    *   index of the group of the last digits
    * @param skipped
    *   digits of that group behind the region
    */
  private def put(
      bytes: Array[Byte],
      offset: Int,
      last: Int,
      to: Array[Byte],
      from: Int,
      until: Int,
      skipped: Int): Unit = {
    var index = last
    var left = 4 - skipped
    var rest = group(bytes, offset, index)
    var i = 0
    while (i < skipped) {
      rest /= 10
      i += 1
    }
    var at = until - 1
    while (at >= from) {
      if (left == 0) {
        index -= 1
        left = 4
        rest = group(bytes, offset, index)
      }
      to(at) = ('0' + rest % 10).toByte
      rest /= 10
      left -= 1
      at -= 1
    }
  }
}
