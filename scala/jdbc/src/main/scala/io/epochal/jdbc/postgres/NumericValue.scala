package io.epochal.jdbc.postgres

import java.math.{BigDecimal => JavaDecimal}

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.postgresql.util.ByteConverter

import io.epochal.kit.database.PostgresType
import io.epochal.kit.sink.row.ChunkedBytes
import io.epochal.kit.spark.memory.{Memory, UnsafeLayout}

/** PostgreSQL's numeric: decimal digits in groups of four.
  *
  * {{{
  *   int16 groups, int16 weight (groups before the point, less one), int16 sign (0x4000: negative), int16 digits after the
  *   point, then the groups, the highest first: each an int16 from 0 to 9999
  * }}}
  *
  * The number is split from its lowest digits by short division in base 2^32 (Knuth, volume 2, 4.3.1), so that even 38 digits
  * allocate nothing.
  *
  * @param scale
  *   fractional digits of the query's type
  * @param narrower
  *   precision and scale of a column narrower than the query's type: only exact values are accepted, so that the server never
  *   rounds. None: the column takes every value
  */
final private class NumericValue(column: Int, read: ReadLimbs, scale: Int, narrower: Option[(Int, Int)])
    extends CheckedValue(column) {
  private val room = narrower.orNull

  // Magnitude in base 2^32, the lowest limb first; longs, for unsigned division.
  private val limbs = new Array[Long](4)
  private val groups = new Array[Int](16)

  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    val negative = read(base, origin, slot, limbs)
    val count = split()
    if (room != null && count > 0) check(count)
    CopyValue.begin(out, 8 + 2 * count).putShort(count)
    out.putShort(count - fractionGroups - 1)
    out.putShort(if (negative) 0x4000 else 0)
    out.putShort(scale)
    var i = count - 1
    while (i >= 0) {
      out.putShort(groups(i))
      i -= 1
    }
  }

  /** Compares the places of the first and the last digit that is not 0 with those of the column. */
  private def check(count: Int): Unit = {
    val (precision, keptDigits) = room
    val first = groups(count - 1)
    val digits = if (first >= 1000) 4 else if (first >= 100) 3 else if (first >= 10) 2 else if (first >= 1) 1 else 0
    if (digits > 0) {
      if (4 * (count - 1 - fractionGroups) + digits > precision - keptDigits)
        refuse(s"it is too large for numeric($precision,$keptDigits)")
      var low = 0
      while (groups(low) == 0) low += 1
      val last = groups(low)
      val zeros = if (last % 1000 == 0) 3 else if (last % 100 == 0) 2 else if (last % 10 == 0) 1 else 0
      if (4 * (low - fractionGroups) + zeros < -keptDigits)
        refuse(s"it has digits beyond those of numeric($precision,$keptDigits)")
    }
  }

  private val fractionGroups = (scale + 3) / 4
  private val firstDigits = Array(10000, 10, 100, 1000)(scale % 4)

  /** Splits into groups, the lowest first; the last fractional group is padded with zeros on the right. */
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
    val read = if (from.precision <= Decimal.MAX_LONG_DIGITS) ReadLimbs.ofLong(LongSlot(LongType)) else ReadLimbs.Wide
    val room = to.numeric.filter { case (precision, scale) =>
      from.scale > scale || from.precision - from.scale > precision - scale
    }
    new NumericValue(column, read, from.scale, room)
  }

  def whole(column: Int, read: LongSlot, to: PostgresType): CopyValue =
    new NumericValue(column, ReadLimbs.ofLong(read), 0, to.numeric)
}

/** Unsigned numbers of up to 128 bits. */
private object Limbs {

  def isZero(limbs: Array[Long]): Boolean = (limbs(0) | limbs(1) | limbs(2) | limbs(3)) == 0

  /** Divides the number in place and returns the remainder. */
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
}

/** Reads a decimal's unscaled value. */
private trait ReadLimbs {

  /** Fills `limbs` with the magnitude, and returns whether the number is negative. */
  def apply(base: AnyRef, origin: Long, slot: Long, limbs: Array[Long]): Boolean
}

private object ReadLimbs {

  /** A whole number, or a decimal of up to 18 digits, which the slot holds as one long. */
  def ofLong(read: LongSlot): ReadLimbs = (base, _, slot, limbs) => {
    val value = read(base, slot)
    val magnitude = math.abs(value) // leaves Long.MinValue as it is, which is correct as an unsigned number
    limbs(0) = magnitude & 0xffffffffL
    limbs(1) = magnitude >>> 32
    limbs(2) = 0
    limbs(3) = 0
    value < 0
  }

  /** Up to 38 digits: stored behind the slots as bytes, in two's complement, the highest first. */
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

/** A text as a numeric (see [[NumericValue]] for the format): digits, with optional sign, point and exponent; also `NaN`, and from
  * PostgreSQL 14 on, in a column without a precision, `Infinity` and `-Infinity`.
  *
  * Lengths and exponents are checked before any arithmetic, so `9e99999999` costs nothing.
  */
final private class NumericText(column: Int, to: PostgresType) extends CheckedValue(column) {
  private val room = to.numeric.orNull

  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    val length = UnsafeLayout.length(base, slot)
    if (length > MaxLength) refuse(s"it has more than $MaxDigits digits")
    val text = UTF8String.fromAddress(base, UnsafeLayout.address(base, origin, slot), length)
    parse(text) match {
      case None =>
        val header = Seq(0, 0, sign(text.toString), 0)
        val value = CopyValue.begin(out, 8)
        header.foreach(value.putShort(_))
      case Some(number) =>
        if (number.scale > MaxFraction) refuse(s"it has more than $MaxFraction digits after the point")
        if (number.signum != 0) check(number)
        val bytes = ByteConverter.numeric(number)
        CopyValue.begin(out, bytes.length).putBytes(bytes, Memory.ARRAY_START, bytes.length)
    }
  }

  /** None: not a number, or infinite. Java parses digits of all scripts. */
  private def parse(text: UTF8String): Option[JavaDecimal] =
    if (text.numChars != text.numBytes) None
    else
      try Some(new JavaDecimal(text.toString))
      catch { case _: NumberFormatException => None }

  private def sign(text: String): Int = text match {
    case "NaN"                       => 0xc000
    case "Infinity" if room == null  => 0xd000
    case "-Infinity" if room == null => 0xf000
    case _                           => refuse("it is not a decimal number")
  }

  private def check(number: JavaDecimal): Unit = {
    val whole = number.precision.toLong - number.scale
    if (whole > MaxWhole) refuse("it is beyond the range of numeric")
    if (room != null && whole > room._1 - room._2) refuse(s"it is too large for numeric(${room._1},${room._2})")
    if (room != null || number.precision > MaxDigits) {
      val shortest = number.stripTrailingZeros
      if (room != null && shortest.scale > room._2)
        refuse(s"it has digits beyond those of numeric(${room._1},${room._2})")
      if (shortest.precision > MaxDigits) refuse(s"it has more than $MaxDigits digits")
    }
  }

  private def MaxWhole = 131072L
  private def MaxFraction = 16383

  /** Maximum digits of the binary form, without leading and trailing zeros. */
  private def MaxDigits = 12000

  /** Maximum characters of the text, including sign, point and exponent. */
  private def MaxLength = MaxWhole + MaxFraction + 12
}

/** Reads any of Spark's integer types. */
private[postgres] trait LongSlot {
  def apply(base: AnyRef, slot: Long): Long
}

private[postgres] object LongSlot {
  def apply(dataType: DataType): LongSlot = dataType match {
    case ByteType    => (base, slot) => Memory.getByte(base, slot).toLong
    case ShortType   => (base, slot) => Memory.getShort(base, slot).toLong
    case IntegerType => (base, slot) => Memory.getInt(base, slot).toLong
    case _           => (base, slot) => Memory.getLong(base, slot)
  }
}
