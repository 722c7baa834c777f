package io.epochal.spark.sink.jdbc.postgres

import org.apache.spark.sql.types.{DataType, Decimal, DecimalType}
import org.apache.spark.unsafe.Platform

import io.epochal.spark.seam.{UnsafeRow, UnsafeRows}
import io.epochal.spark.sink.jdbc.{BoundColumn, ChunkedBytes}

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
  */
abstract private class NumericColumn(bound: BoundColumn, scale: Int) extends CopyColumn(bound) {
  // Magnitude in base 2^32, the lowest first; longs, for division without signs.
  private val limbs = new Array[Long](4)
  private val groups = new Array[Int](16)

  /** Fills `limbs` with the magnitude, and says whether the number is negative. */
  protected def read(row: UnsafeRow, limbs: Array[Long]): Boolean

  override def encode(row: UnsafeRow, out: ChunkedBytes): Unit = {
    val negative = read(row, limbs)
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
      groups(0) = divide(firstDigits) * (10000 / firstDigits)
      count = 1
    }
    while ((limbs(0) | limbs(1) | limbs(2) | limbs(3)) != 0) {
      groups(count) = divide(10000)
      count += 1
    }
    count
  }

  /** Divides the magnitude and gives the remainder. */
  private def divide(by: Int): Int =
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

private object NumericColumn {

  def apply(bound: BoundColumn, from: DataType, to: PostgresType): CopyColumn = from match {
    case d: DecimalType =>
      val room = to.numeric.filter { case (precision, scale) =>
        d.scale > scale || d.precision - d.scale > precision - scale
      }
      (room, d.precision <= Decimal.MAX_LONG_DIGITS) match {
        case (Some((precision, scale)), _) => new Narrower(bound, d, precision, scale)
        case (None, true)                  => new Short(bound, d.scale)
        case (None, false)                 => new Wide(bound, d.scale)
      }
    case integral => new Whole(bound, CopyColumn.Integral(integral), to)
  }

  private def setLong(value: Long, limbs: Array[Long]): Boolean = {
    val magnitude = math.abs(value) // of Long.MinValue itself, which is right when read without a sign
    limbs(0) = magnitude & 0xffffffffL
    limbs(1) = magnitude >>> 32
    limbs(2) = 0
    limbs(3) = 0
    value < 0
  }

  /** Up to 18 digits: they lie in the row as one long. */
  final private class Short(bound: BoundColumn, scale: Int) extends NumericColumn(bound, scale) {
    override protected def read(row: UnsafeRow, limbs: Array[Long]): Boolean = setLong(row.getLong(ordinal), limbs)
  }

  final private class Whole(bound: BoundColumn, value: CopyColumn.Integral, to: PostgresType)
      extends NumericColumn(bound, 0) {
    private val limit = to.numeric
      .collect {
        case (precision, scale) if precision - scale < 19 => BigInt(10).pow(math.max(precision - scale, 0)).toLong
      }
      .getOrElse(-1L)
    private val unit =
      to.numeric.collect { case (_, scale) if scale < 0 => BigInt(10).pow(math.min(-scale, 18)).toLong }.getOrElse(1L)

    override protected def read(row: UnsafeRow, limbs: Array[Long]): Boolean = {
      val long = value(row, ordinal)
      if (limit >= 0 && (long >= limit || long <= -limit) || long % unit != 0) refuse(s"it does not fit ${to.declared}")
      setLong(long, limbs)
    }
  }

  /** Up to 38 digits: they lie in the row as bytes, two's complement, the highest first. */
  final private class Wide(bound: BoundColumn, scale: Int) extends NumericColumn(bound, scale) {
    override protected def read(row: UnsafeRow, limbs: Array[Long]): Boolean = {
      val base = row.getBaseObject
      val address = UnsafeRows.address(row, ordinal)
      val length = UnsafeRows.length(row, ordinal)
      val negative = Platform.getByte(base, address) < 0
      java.util.Arrays.fill(limbs, 0L)
      // A negative number's magnitude is the complement of its bits, plus one.
      var carry = if (negative) 1L else 0L
      var i = 0
      while (i < 4) {
        var limb = 0L
        var b = 3
        while (b >= 0) {
          val at = length - 1 - (4 * i + b)
          val byte = if (at < 0) if (negative) 0xff else 0 else Platform.getByte(base, address + at) & 0xff
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

  /** Into a column with less room: only what fits it exactly, so that the server has nothing to round. */
  final private class Narrower(bound: BoundColumn, from: DecimalType, precision: Int, scale: Int)
      extends NumericColumn(bound, from.scale) {
    override protected def read(row: UnsafeRow, limbs: Array[Long]): Boolean = {
      val value = row.getDecimal(ordinal, from.precision, from.scale).toJavaBigDecimal
      val fitted =
        try value.setScale(scale, java.math.RoundingMode.UNNECESSARY)
        catch { case _: ArithmeticException => refuse(s"it has digits beyond those of numeric($precision,$scale)") }
      if (fitted.signum != 0 && fitted.precision > precision) refuse(s"it is too large for numeric($precision,$scale)")
      val unscaled = value.unscaledValue
      val magnitude = unscaled.abs
      var i = 0
      while (i < 4) {
        limbs(i) = magnitude.shiftRight(32 * i).longValue & 0xffffffffL
        i += 1
      }
      unscaled.signum < 0
    }
  }
}
