package io.epochal.kit.spark

import java.nio.CharBuffer

import com.fasterxml.jackson.core.{JsonParser, JsonToken}

/** Detects numbers that exist to waste time: evaluating `9e99999999`, or millions of digits, takes minutes, and no DECIMAL
  * column can hold the result. Must be checked before any arithmetic.
  */
private[spark] object DecimalText {

  /** No DECIMAL has more than 38 digits; values beyond the limit round to zero or overflow. */
  private val MaxExponent = 1000
  private val MaxLength = 2000
  private val ExponentDigits = 4

  /** Whether the current number is safe to evaluate.
    *
    * @param parser
    *   is at the value
    */
  def isBounded(parser: JsonParser): Boolean = parser.currentToken match {
    case JsonToken.VALUE_NUMBER_FLOAT | JsonToken.VALUE_STRING =>
      val length = parser.getTextLength
      length <= MaxLength && isBounded(CharBuffer.wrap(parser.getTextCharacters, parser.getTextOffset, length))
    case _ => true // Jackson limits the digits of whole numbers.
  }

  def isBounded(text: String): Boolean = text.length <= MaxLength && isBounded(text: CharSequence)

  /** Whether the exponent, if any, is small; other code rejects texts that are not numbers. */
  private def isBounded(text: CharSequence): Boolean = {
    var i = text.length - 1
    while (i >= 0 && text.charAt(i) != 'e' && text.charAt(i) != 'E') i -= 1
    if (i < 0) true
    else {
      i += 1
      if (i < text.length && (text.charAt(i) == '-' || text.charAt(i) == '+')) i += 1
      while (i < text.length && text.charAt(i) == '0') i += 1
      val from = i
      var exponent = 0
      while (i < text.length && i - from < ExponentDigits && Character.isDigit(text.charAt(i))) {
        exponent = exponent * 10 + Character.digit(text.charAt(i), 10)
        i += 1
      }
      exponent <= MaxExponent && (i == text.length || !Character.isDigit(text.charAt(i)))
    }
  }
}
