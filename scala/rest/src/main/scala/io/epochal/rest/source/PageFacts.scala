package io.epochal.rest.source

import io.epochal.rest.http.Refusal

/** The result of a request for a page of a counted list.
  *
  * @param records
  *   number of records on the page
  * @param total
  *   the length of the list according to the response; None if the response has no body, or totals are not configured
  * @param content
  *   digest of the page's records; 0 unless the pagination is by offset
  * @param digests
  *   digests of some of the records, by their number in the list
  * @param refusal
  *   the response, if the server refused the page
  * @param totals
  *   numbers in the response that may be the length of the list
  * @param more
  *   why a page without records is not behind the end of the list, worded to follow "0 records, and says"
  */
final private[rest] case class PageFacts(
    records: Long,
    total: Option[Long] = None,
    content: Long = 0,
    digests: Seq[(Long, String)] = Nil,
    refusal: Option[Refusal] = None,
    totals: Seq[Long] = Nil,
    more: Option[String] = None)
