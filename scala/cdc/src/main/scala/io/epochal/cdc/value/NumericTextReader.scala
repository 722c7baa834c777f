package io.epochal.cdc.value

import java.nio.charset.StandardCharsets.ISO_8859_1

import org.apache.spark.unsafe.types.UTF8String

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
