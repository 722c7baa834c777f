package io.epochal.cdc.value

import java.math.{BigDecimal => JavaDecimal}
import java.nio.charset.StandardCharsets.ISO_8859_1

import org.apache.spark.sql.types.{Decimal, DecimalType}
import org.postgresql.util.ByteConverter

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

  private def compact(negative: Boolean, unscaledValue: Long): Decimal = {
    if (to.precision < LongDigits && unscaledValue >= Powers(to.precision)) tooLarge()
    Decimal.createUnsafe(if (negative) -unscaledValue else unscaledValue, to.precision, to.scale)
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

  /** Every number with this many digits fits in a long. */
  final private val LongDigits = 18

  /** With fewer groups, a number without its point is below 10^18. */
  final private val LongGroups = 5

  /** Groups before the point, and digits with a sign, of numbers that no DECIMAL holds. */
  final private val MaxGroups = 10
  final private val MaxDigits = DecimalType.MAX_PRECISION + 1

  private val Powers = Array.iterate(1L, LongDigits + 1)(_ * 10)
}
