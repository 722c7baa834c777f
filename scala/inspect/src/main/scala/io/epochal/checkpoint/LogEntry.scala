package io.epochal.checkpoint

/** A file in one of the logs.
  *
  * @param modificationTime
  *   milliseconds since 1970
  * @param content
  *   Left: why the file cannot be read
  */
final case class LogEntry[A](modificationTime: Long, content: Either[String, A])
