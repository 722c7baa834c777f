package io.epochal.kit.record

import com.fasterxml.jackson.core.JsonProcessingException

/** A body that is not what its format says. It goes the way of bodies that are no JSON: another attempt may bring another one.
  *
  * @param cut
  *   whether it looks as if its end were missing
  */
final private[epochal] class BodyProblem(reason: String, val cut: Boolean = false)
    extends JsonProcessingException(reason)

private[record] object BodyProblem {

  /** Refuses a body that begins with a character that no record begins with: a page of a proxy or a login, or one JSON
    * value in place of many.
    */
  def refuse(body: Piece, beginnings: String, expected: String): Unit = {
    val first = (0 until body.length).iterator.map(body.bytes(_)).find(byte => byte > ' ' || byte < 0)
    first.filter(byte => beginnings.indexOf(byte.toInt) >= 0).foreach { byte =>
      throw new BodyProblem(s"it begins with '${byte.toChar}', and should be $expected")
    }
  }
}
