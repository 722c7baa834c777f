package io.epochal.checkpoint

/** A file in one of the logs.
  *
  * @param modified
  *   milliseconds since 1970
  * @param content
  *   Left: why the file cannot be read
  */
final case class LogEntry[A](modified: Long, content: Either[String, A])
