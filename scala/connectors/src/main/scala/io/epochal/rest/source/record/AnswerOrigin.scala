package io.epochal.rest.source.record

/** Where an answer came from.
  *
  * @param url
  *   without anything that may be secret
  * @param fetchedAt
  *   when it came: microseconds since 1970
  * @param headers
  *   only where a column wants them
  */
final private[rest] case class AnswerOrigin(
    url: String,
    status: Int,
    fetchedAt: Long,
    headers: Option[Map[String, String]]
)
