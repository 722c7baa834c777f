package io.epochal.kit.source

import java.time.Duration

/** The limits of a poll: its duration, and the bytes of records. The page that exceeds a limit is received completely. */
final case class PollBounds(time: Duration, bytes: Long)
