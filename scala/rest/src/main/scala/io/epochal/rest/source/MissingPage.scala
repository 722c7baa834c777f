package io.epochal.rest.source

import io.epochal.core.error.{Conditions, EpochalException}

/** The response to a request for a list that the API no longer has, such as that of a deleted parent. */
private[rest] object MissingPage {
  val Statuses: Seq[Int] = Seq(404, 410)

  /** Whether an error says that the requested page does not exist. */
  def reportedBy(error: EpochalException): Boolean =
    (error.condition == Conditions.HttpStatus || error.condition == Conditions.PageRefused) &&
      error.values.get("status").flatMap(_.toIntOption).exists(Statuses.contains)
}
