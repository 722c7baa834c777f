package io.epochal.kit.source.journal

import java.time.Duration

import io.epochal.kit.source.PositionCodec

/** Settings for tasks that read a journalled supply without an end.
  *
  * @param log
  *   of the feed
  * @param pause
  *   between two polls, after an empty one
  * @param maxBytes
  *   of received rows that wait to be read
  */
final case class Feeding[P](log: FeedLog, codec: PositionCodec[P], pause: Duration, maxBytes: Long = Feeding.MaxBytes)

object Feeding {
  val MaxBytes: Long = 1L << 30
}
