package io.epochal.kit.sink.transport

import io.epochal.core.ledger.ContentDigest
import io.epochal.kit.sink.row.DeadLetter

/** A task's totals after its last row, for any transport.
  *
  * @param digest
  *   of all rows, including bad ones: it recognises a replay
  * @param encodeNanos
  *   time spent encoding rows, estimated
  */
final case class TaskReport(
    attempt: TaskAttempt,
    digest: ContentDigest,
    deadLetters: Array[DeadLetter],
    encodeNanos: Long)
