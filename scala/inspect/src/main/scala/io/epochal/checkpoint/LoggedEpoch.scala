package io.epochal.checkpoint

/** An epoch that has a file in at least one of the logs.
  *
  * @param offsets
  *   None: no file
  */
final case class LoggedEpoch(number: Long, offsets: Option[LogEntry[OffsetLog]], commit: Option[LogEntry[CommitLog]])
