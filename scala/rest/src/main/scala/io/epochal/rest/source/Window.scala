package io.epochal.rest.source

import java.time.Instant

/** A half-open interval of time. */
final case class Window(from: Instant, to: Instant) {

  /** Describes the window in a message. */
  def description: String = s"the window ${if (from == Instant.MIN) "" else s"from $from "}to $to"
}
