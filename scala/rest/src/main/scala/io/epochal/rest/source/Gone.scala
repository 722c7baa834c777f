package io.epochal.rest.source

import io.epochal.core.error.{Conditions, EpochalException}

/** A list of a parent's record that the API no longer has. */
private[rest] object Gone {
  val Statuses: Seq[Int] = Seq(404, 410)

  /** Whether an error says that the requested page does not exist. */
  def is(error: EpochalException): Boolean =
    (error.condition == Conditions.HttpStatus || error.condition == Conditions.PageRefused) &&
      error.values.get("status").flatMap(_.toIntOption).exists(Statuses.contains)
}
