package io.epochal.rest.http

/** Sums over requests.
  *
  * @param pages
  *   responses from which tasks have taken records
  * @param malformed
  *   records that do not fit the schema
  */
final private[epochal] case class HttpCounts(
    pages: Long = 0,
    requests: Long = 0,
    retries: Long = 0,
    throttled: Long = 0,
    waitedMillis: Long = 0,
    bytes: Long = 0,
    malformed: Long = 0) {

  def +(more: HttpCounts): HttpCounts = HttpCounts(
    pages + more.pages,
    requests + more.requests,
    retries + more.retries,
    throttled + more.throttled,
    waitedMillis + more.waitedMillis,
    bytes + more.bytes,
    malformed + more.malformed)

  /** The sums by the names that they have in the query progress: those of the fields. */
  def byName: Map[String, Long] = productElementNames.zip(productIterator.collect { case sum: Long => sum }).toMap
}
