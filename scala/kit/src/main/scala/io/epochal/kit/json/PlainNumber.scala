package io.epochal.kit.json

import java.nio.charset.StandardCharsets.ISO_8859_1

/** Numbers as they are mostly written. */
private[epochal] object PlainNumber {

  /** No whole number that is read here. */
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
    val plain = i > first && i < end && !goesOn(bytes(i)) && (bytes(first) != '0' || i == first + 1)
    scan.at = i
    if (!plain) NotWhole else if (negative) -value else value
  }

  /** Whether a number has more than the digits before this byte. */
  private def goesOn(byte: Byte): Boolean = byte == '.' || byte == 'e' || byte == 'E'

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
