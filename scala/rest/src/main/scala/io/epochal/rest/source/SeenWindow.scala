package io.epochal.rest.source

import java.time.Instant

/** Where the records of a window begin in the stream.
  *
  * @param until
  *   the end of the window
  * @param record
  *   the number in the stream of the window's first record
  */
final case class SeenWindow(until: Instant, record: Long)
