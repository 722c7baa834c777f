package io.epochal.rest.source

import java.util.Locale

/** A flag in a response that states whether a page follows: the option `hasMore` or `lastPage`.
  *
  * @param pointer
  *   JSON Pointer to it
  * @param trueInLast
  *   whether it is true on the last page only (`lastPage`)
  */
final case class MoreFlag(pointer: String, trueInLast: Boolean) {

  /** Whether a page follows; None if the value is not a flag. */
  def more(value: String): Option[Boolean] = value.toLowerCase(Locale.ROOT) match {
    case "true" | "1"  => Some(!trueInLast)
    case "false" | "0" => Some(trueInLast)
    case _             => None
  }
}
