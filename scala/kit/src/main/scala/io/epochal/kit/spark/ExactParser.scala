package io.epochal.kit.spark

import java.nio.CharBuffer
import java.util.regex.Pattern

import com.fasterxml.jackson.core.util.JsonParserDelegate
import com.fasterxml.jackson.core.{JsonParser, JsonToken}
import org.apache.spark.sql.catalyst.InternalRow

/** Parses JSON values for Spark's converters, and rejects values that would change: a number beyond the range of its type,
  * which Java reads as infinite, and half of a surrogate pair, which UTF-8 cannot encode.
  *
  * `Infinity`, which Spark accepts, is not rejected.
  */
final private[spark] class ExactParser(parser: JsonParser) extends JsonParserDelegate(parser) {
  import ExactParser._

  override def getText: String = whole(super.getText)

  override def getValueAsString: String = whole(super.getValueAsString)

  override def getValueAsString(default: String): String = whole(super.getValueAsString(default))

  override def currentName: String = whole(super.currentName)

  override def getDoubleValue: Double = {
    val value = super.getDoubleValue
    if (value.isInfinite && isWritten) throw new InexactValueException
    value
  }

  override def getFloatValue: Float = {
    val value = super.getFloatValue
    if (value.isInfinite && isWritten) throw new InexactValueException
    value
  }

  /** Whether the number is written in digits. */
  private def isWritten: Boolean = super.getText.exists(isDigit)

  private def whole(text: String): String = if (isBroken(text)) throw new InexactValueException else text
}

private[spark] object ExactParser {
  def isDigit(c: Char): Boolean = c >= '0' && c <= '9'

  /** Whether a text has half of a surrogate pair. */
  def isBroken(text: String): Boolean = {
    var i = 0
    var sound = true
    while (sound && text != null && i < text.length) {
      val c = text.charAt(i)
      if (!Character.isSurrogate(c)) i += 1
      else if (Character.isHighSurrogate(c) && i + 1 < text.length && Character.isLowSurrogate(text.charAt(i + 1)))
        i += 2
      else sound = false
    }
    !sound
  }
}

/** A value that its type cannot represent exactly. */
final private[spark] class InexactValueException extends RuntimeException(null, null, false, false)

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

/** Detects times without a date, such as `12:30`. Spark reads them as a time of the present day: a replay on another day would
  * yield another row.
  */
private[spark] object TimestampText {
  private val TimeOnly = Pattern.compile("[\\s\\p{Cntrl}]*(T|\\d+:)")

  def hasDate(text: String): Boolean = !TimeOnly.matcher(text).lookingAt
}

/** A record that was parsed again, value by value.
  *
  * @param row
  *   the values that fit; columns whose value does not fit are NULL
  * @param reason
  *   what does not fit, by names and types, without values. None if everything fits
  */
final case class Examined(row: InternalRow, reason: Option[String])
