package io.epochal.kit.spark

import java.util.regex.Pattern

/** Detects times without a date, such as `12:30`. Spark reads them as a time of the present day: a replay on another day would
  * yield another row.
  */
private[spark] object TimestampText {
  private val TimeOnly = Pattern.compile("[\\s\\p{Cntrl}]*(T|\\d+:)")

  def hasDate(text: String): Boolean = !TimeOnly.matcher(text).lookingAt
}
