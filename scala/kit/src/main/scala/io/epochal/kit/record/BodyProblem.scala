package io.epochal.kit.record

import com.fasterxml.jackson.core.JsonProcessingException

/** A body that is not in its declared format. Handled like a body that is not JSON: another attempt may return a valid one.
  *
  * @param cut
  *   whether it appears to be truncated
  */
final private[epochal] class BodyProblem(reason: String, val cut: Boolean = false)
    extends JsonProcessingException(reason)

private[record] object BodyProblem {

  /** Rejects a body whose first character begins no record: a page of a proxy or a login, or one JSON value in place of many.
    */
  def refuse(body: Piece, beginnings: String, form: String): Unit = {
    val first = (0 until body.length).iterator.map(body.bytes(_)).find(byte => byte > ' ' || byte < 0)
    first.filter(byte => beginnings.indexOf(byte.toInt) >= 0).foreach { byte =>
      throw new BodyProblem(s"it begins with '${byte.toChar}', and should be $form")
    }
  }
}
