package io.epochal.jdbc.postgres

import io.epochal.kit.sink.row.ChunkedBytes
import io.epochal.kit.spark.memory.{Memory, UnsafeLayout}

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
