package io.epochal.checkpoint

/** Contents of a checkpoint.
  *
  * @param queryId
  *   None: `metadata` is missing or cannot be read
  * @param hasState
  *   whether the checkpoint has state stores
  * @param marks
  *   highest event time of each source at the last clean stop, in microseconds since 1970
  * @param storedUntil
  *   the time of each source before which all that was committed at its origin is stored, in microseconds since 1970
  */
final case class Checkpoint(
    queryId: Option[String],
    hasState: Boolean,
    epochs: Seq[LoggedEpoch],
    marks: Map[String, Long],
    storedUntil: Map[String, Long])
