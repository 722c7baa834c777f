package io.epochal.cdc.value

import scala.util.control.NoStackTrace

/** A value that its Spark type does not have.
  *
  * @param reason
  *   without the value itself
  * @param instruction
  *   where reading the column as STRING does not help
  */
final private[value] class UnreadableValue(val reason: String, val instruction: Option[String] = None)
    extends RuntimeException(reason)
    with NoStackTrace
