package io.epochal.kit.spark

import com.fasterxml.jackson.core.JsonParser
import com.fasterxml.jackson.core.util.JsonParserDelegate

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
