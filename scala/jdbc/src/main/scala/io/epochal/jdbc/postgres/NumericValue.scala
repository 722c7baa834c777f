package io.epochal.jdbc.postgres

import org.apache.spark.sql.types.{Decimal, DecimalType}

import io.epochal.kit.sink.row.ChunkedBytes
import io.epochal.kit.spark.memory.{Memory, UnsafeLayout}

/** PostgreSQL's numeric: decimal digits in groups of four.
  *
  * {{{
  *   int16 groups, int16 weight (groups before the point, less one), int16 sign (0x4000: negative), int16 digits after the
  *   point, then the groups, the highest first: each an int16 from 0 to 9999
  * }}}
  *
  * The number is taken apart from its lowest digits by short division in base 2^32 (Knuth, volume 2, 4.3.1), so that none
  * of 38 digits needs an object.
  *
  * @param scale
  *   digits after the point of the query's type
  * @param room
  *   None: the column takes every value of the query's type
  */
final private class NumericValue(column: Int, read: ReadLimbs, scale: Int, room: Option[NumericRoom])
    extends CopyValue(column) {
  // Magnitude in base 2^32, the lowest first; longs, for division without signs.
  private val limbs = new Array[Long](4)
  private val groups = new Array[Int](16)
  private val check = room.orNull

  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    val negative = read(base, origin, slot, limbs)
    if (check != null) {
      val problem = check.problem(limbs)
      if (problem != null) refuse(problem)
    }
    val count = split()
    out.reserve(12 + 2 * count)
    out.putInt(8 + 2 * count)
    out.putShort(count)
    out.putShort(count - fractionGroups - 1)
    out.putShort(if (negative) 0x4000 else 0)
    out.putShort(scale)
    var i = count - 1
    while (i >= 0) {
      out.putShort(groups(i))
      i -= 1
    }
  }

  private val fractionGroups = (scale + 3) / 4
  private val firstDigits = Array(10000, 10, 100, 1000)(scale % 4)

  /** The groups, the lowest first; the last of the fraction is filled up with zeros on its right. */
  private def split(): Int = {
    var count = 0
    if (scale % 4 != 0) {
      groups(0) = Limbs.divide(limbs, firstDigits) * (10000 / firstDigits)
      count = 1
    }
    while (!Limbs.isZero(limbs)) {
      groups(count) = Limbs.divide(limbs, 10000)
      count += 1
    }
    count
  }
}

private object NumericValue {

  def apply(column: Int, from: DecimalType, to: PostgresType): CopyValue = {
    val read = if (from.precision <= Decimal.MAX_LONG_DIGITS) ReadLimbs.Short else ReadLimbs.Wide
    val room = to.numeric.filter { case (precision, scale) =>
      from.scale > scale || from.precision - from.scale > precision - scale
    }
    new NumericValue(column, read, from.scale, room.map { case (p, s) => new NumericRoom(p, s, from.scale) })
  }

  def whole(column: Int, read: ReadLong, to: PostgresType): CopyValue =
    new NumericValue(column, new ReadLimbs.Whole(read), 0, to.numeric.map { case (p, s) => new NumericRoom(p, s, 0) })
}

/** Numbers of up to 128 bits without their sign. */
private object Limbs {

  def isZero(limbs: Array[Long]): Boolean = (limbs(0) | limbs(1) | limbs(2) | limbs(3)) == 0

  /** Divides the number in its place and gives the remainder. */
  def divide(limbs: Array[Long], by: Int): Int =
    if ((limbs(2) | limbs(3)) == 0 && limbs(1) <= Int.MaxValue) {
      val value = (limbs(1) << 32) | limbs(0)
      val quotient = value / by
      limbs(0) = quotient & 0xffffffffL
      limbs(1) = quotient >>> 32
      (value - quotient * by).toInt
    } else {
      var remainder = 0L
      var i = 3
      while (i >= 0) {
        val value = (remainder << 32) | limbs(i)
        limbs(i) = value / by
        remainder = value % by
        i -= 1
      }
      remainder.toInt
    }

  def isLess(left: Array[Long], right: Array[Long]): Boolean = {
    var i = 3
    while (i > 0 && left(i) == right(i)) i -= 1
    left(i) < right(i)
  }

  def of(value: BigInt): Array[Long] = Array.tabulate(4)(i => ((value >> (32 * i)) & 0xffffffffL).toLong)
}

/** A numeric(p,s) with less room than the query's type: only what fits it exactly, so that the server has nothing to round.
  *
  * @param fromScale
  *   digits after the point of the numbers asked about
  */
final private class NumericRoom(precision: Int, scale: Int, fromScale: Int) {
  private val scratch = new Array[Long](4)

  /** The digits that must be zeros at the end, and the digits that there may be in all. */
  private val surplus = fromScale - scale
  private val digits = precision + surplus
  private val limit = if (digits < 39) Limbs.of(BigInt(10).pow(math.max(digits, 0))) else null

  /** Why a number does not fit; null if it does. */
  def problem(limbs: Array[Long]): String =
    if (Limbs.isZero(limbs)) null
    else if (limit != null && !Limbs.isLess(limbs, limit)) s"it is too large for numeric($precision,$scale)"
    else if (surplus > 0 && !endsWithZeros(limbs)) s"it has digits beyond those of numeric($precision,$scale)"
    else null

  private def endsWithZeros(limbs: Array[Long]): Boolean = {
    System.arraycopy(limbs, 0, scratch, 0, 4)
    var left = surplus
    var remainder = 0
    while (left > 0 && remainder == 0) {
      val now = math.min(left, 9)
      remainder = Limbs.divide(scratch, PowersOfTen(now))
      left -= now
    }
    remainder == 0
  }

  private def PowersOfTen = NumericRoom.PowersOfTen
}

private object NumericRoom {
  val PowersOfTen: Array[Int] = Array.iterate(1, 10)(_ * 10)
}

/** Reads a decimal's digits. */
private trait ReadLimbs {

  /** Fills `limbs` with the magnitude, and says whether the number is negative. */
  def apply(base: AnyRef, origin: Long, slot: Long, limbs: Array[Long]): Boolean
}

private object ReadLimbs {

  private def setLong(value: Long, limbs: Array[Long]): Boolean = {
    val magnitude = math.abs(value) // of Long.MinValue itself, which is right when read without a sign
    limbs(0) = magnitude & 0xffffffffL
    limbs(1) = magnitude >>> 32
    limbs(2) = 0
    limbs(3) = 0
    value < 0
  }

  final class Whole(read: ReadLong) extends ReadLimbs {
    override def apply(base: AnyRef, origin: Long, slot: Long, limbs: Array[Long]): Boolean =
      setLong(read(base, slot), limbs)
  }

  /** Up to 18 digits: they lie in the slot as one long. */
  object Short extends ReadLimbs {
    override def apply(base: AnyRef, origin: Long, slot: Long, limbs: Array[Long]): Boolean =
      setLong(Memory.getLong(base, slot), limbs)
  }

  /** Up to 38 digits: they lie behind the slots as bytes, two's complement, the highest first. */
  object Wide extends ReadLimbs {
    override def apply(base: AnyRef, origin: Long, slot: Long, limbs: Array[Long]): Boolean = {
      val address = UnsafeLayout.address(base, origin, slot)
      val length = UnsafeLayout.length(base, slot)
      val negative = Memory.getByte(base, address) < 0
      // A negative number's magnitude is the complement of its bits, plus one.
      var carry = if (negative) 1L else 0L
      var i = 0
      while (i < 4) {
        var limb = 0L
        var b = 3
        while (b >= 0) {
          val at = length - 1 - (4 * i + b)
          val byte = if (at < 0) if (negative) 0xff else 0 else Memory.getByte(base, address + at) & 0xff
          limb = (limb << 8) | (if (negative) byte ^ 0xff else byte).toLong
          b -= 1
        }
        limb += carry
        carry = limb >>> 32
        limbs(i) = limb & 0xffffffffL
        i += 1
      }
      negative
    }
  }
}

/** A text as a numeric (see [[NumericValue]] for its form): digits, with a sign, a point and an exponent where there are any.
  *
  * NaN and the infinities are refused: PostgreSQL has them, Spark's decimals have not.
  */
final private class NumericText(column: Int, to: PostgresType) extends CopyValue(column) {
  private val room = to.numeric
  private val precision = room.fold(0)(_._1)
  private val scale = room.fold(0)(_._2)

  private var text: AnyRef = _
  private var start = 0L
  private var end = 0
  private var point = 0

  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    text = base
    start = UnsafeLayout.address(base, origin, slot)
    val length = UnsafeLayout.length(base, slot)
    val signed = length > 0 && (at(0) == '-' || at(0) == '+')
    val from = if (signed) 1 else 0
    readMantissa(from, length)
    val exponent = if (end < length) readExponent(length) else 0
    val written = end - from - (if (point < end) 1 else 0)
    if (written == 0) bad()
    val fraction = math.max(0L, (if (point < end) end - point - 1 else 0).toLong - exponent)
    if (fraction > MaxFraction) refuse(s"it has more than $MaxFraction digits after the point")

    // The digits that count: from the first that is not 0 to the last.
    var first = from
    while (first < end && (at(first) == '0' || at(first) == '.')) first += 1
    var last = end - 1
    while (last > first && (at(last) == '0' || at(last) == '.')) last -= 1
    if (first == end) put(0, 0, isNegative = false, fraction.toInt, first, out)
    else {
      val digits = last - first + 1 - (if (first < point && point < last) 1 else 0)
      // Digits before the point, counted from the first that is not 0; negative for 0.00…
      val whole = point - first + (if (first > point) 1 else 0) + exponent
      if (whole > MaxWhole || whole < -MaxFraction) refuse("it is beyond the range of numeric")
      checkRoom(whole.toInt, digits)
      put(whole.toInt, digits, isNegative = at(0) == '-', fraction.toInt, first, out)
    }
  }

  /** Sets `end` to the first character behind, and `point` to that of the point, or to `end`. */
  private def readMantissa(from: Int, length: Int): Unit = {
    point = -1
    end = from
    while (end < length && (isDigit(at(end)) || (at(end) == '.' && point < 0))) {
      if (at(end) == '.') point = end
      end += 1
    }
    if (point < 0) point = end
    if (end < length && at(end) != 'e' && at(end) != 'E') bad()
  }

  private def readExponent(length: Int): Long = {
    var i = end + 1
    val signed = i < length && (at(i) == '-' || at(i) == '+')
    val negative = signed && at(i) == '-'
    if (signed) i += 1
    if (i == length || length - i > 9) bad()
    var value = 0L
    while (i < length) {
      if (!isDigit(at(i))) bad()
      value = value * 10 + (at(i) - '0')
      i += 1
    }
    if (negative) -value else value
  }

  private def checkRoom(whole: Int, digits: Int): Unit = if (room.isDefined) {
    if (whole > precision - scale) refuse(s"it is too large for numeric($precision,$scale)")
    if (digits - whole > scale) refuse(s"it has digits beyond those of numeric($precision,$scale)")
  }

  /** @param whole
    *   digits before the point
    * @param digits
    *   how many there are, from `first` on
    */
  private def put(whole: Int, digits: Int, isNegative: Boolean, fraction: Int, first: Int, out: ChunkedBytes): Unit = {
    val groupsBefore = Math.floorDiv(whole + 3, 4)
    val padding = groupsBefore * 4 - whole
    val groups = if (digits == 0) 0 else (padding + digits + 3) / 4
    if (groups > MaxGroups) refuse(s"it has more than ${MaxGroups * 4} digits")
    out.reserve(12 + 2 * groups)
    out.putInt(8 + 2 * groups)
    out.putShort(groups)
    out.putShort(if (digits == 0) 0 else groupsBefore - 1)
    out.putShort(if (isNegative) 0x4000 else 0)
    out.putShort(fraction)
    var i = first
    var place = padding
    var group = 0
    var left = digits
    while (left > 0 || place % 4 != 0) {
      if (left > 0 && at(i) == '.') i += 1
      group = group * 10 + (if (left > 0) at(i) - '0' else 0)
      i += 1
      left -= 1
      place += 1
      if (place % 4 == 0) {
        out.putShort(group)
        group = 0
      }
    }
  }

  private def at(i: Int): Int = Memory.getByte(text, start + i).toInt
  private def isDigit(c: Int): Boolean = c >= '0' && c <= '9'
  private def bad(): Nothing = refuse("it is not a decimal number (NaN and the infinities are none)")

  private def MaxWhole = 131072L
  private def MaxFraction = 16383L

  /** Of the binary form. */
  private def MaxGroups = 3000
}
