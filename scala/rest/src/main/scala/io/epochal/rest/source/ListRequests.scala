package io.epochal.rest.source

import io.epochal.core.error.EpochalException
import io.epochal.kit.record.{PageScan, RecordFormat, RecordRules, RecordShape}
import io.epochal.rest.http.{Endpoint, HttpCall, HttpSettings, Validator}

/** How the pages of one list are requested and read. Serialized to the executors; prints without secrets.
  *
  * @param http
  *   the endpoint and the HTTP settings
  * @param paging
  *   how pages are requested
  * @param pageCall
  *   the request for a page
  * @param rules
  *   which records become rows
  * @param isConditional
  *   whether requests may be conditional
  * @param params
  *   the values that select the list, by name; empty if there is only one
  */
final case class ListRequests private[rest] (
    http: HttpSettings,
    paging: Paging,
    pageCall: PageCall,
    rules: RecordRules,
    private[rest] val end: EndRules,
    isConditional: Boolean,
    errors: ListErrors,
    params: Map[String, String] = Map.empty) {

  def endpoint: Endpoint = http.endpoint

  /** The origin of records in errors. */
  val place: String = endpoint.toString

  /** The list at another address. */
  private[rest] def at(endpoint: Endpoint): ListRequests =
    copy(http = http.copy(endpoint = endpoint), errors = errors.copy(endpoint = endpoint))

  /** The list with another identity. */
  private[rest] def as(source: String): ListRequests = copy(errors = errors.copy(source = source))

  /** Within the request budget of a query. */
  private[rest] def within(query: String): ListRequests = copy(http = http.copy(query = query))

  /** A copy in which these are the names of a row's values, unless responses have them. */
  private[rest] def withRowNames(names: Seq[String]): ListRequests = rules.format match {
    case json @ RecordFormat.Json(_, _, Some(shape @ RecordShape(RecordShape.Rows(None, _), _, _))) =>
      copy(rules = rules.copy(format = json.copy(shape = Some(shape.copy(kind = RecordShape.Rows(None, names))))))
    case _ => this
  }

  /** Scans a whole response; see [[PageScan.of]]. */
  private[rest] def scan(
      pointers: Seq[String] = Nil,
      key: Option[String] = None,
      json: Set[String] = Set.empty): PageScan =
    PageScan.of(rules.format, place, pointers, key, paging.isInstanceOf[ChainedPagination], json)

  /** Whether a column needs the origin of a response. */
  private[rest] val keepsOrigin: Boolean = rules.origin.exists(OriginColumns.ofResponse.contains)

  @transient private[rest] lazy val own: OwnParameters = new OwnParameters(http)

  /** Whether the driver sends conditional requests, which servers support for GET only (RFC 9110, section 13.2). */
  def revalidates: Boolean = isConditional && pageCall.isPlain &&
    !endpoint.headers.exists { case (name, _) => Validator.isCondition(name) }

  /** The pagination of a counted list. */
  def pagination: Pagination = paging match {
    case pages: Pagination => pages
    case other             => throw new IllegalStateException(s"pagination=${other.kind} counts no records")
  }

  /** The request for a page. Pages other than the first may be past the end; a missing first page is an error. */
  def call(page: PageRequest): HttpCall =
    pageCall.of(endpoint, pagination, page).copy(endAfter = if (page.first > 0) 1 else 0)

  /** The request for a page that a poll has found. A single response that it is missing is retried, so that no record is
    * lost.
    */
  def plannedCall(page: PageRequest): HttpCall = {
    val single = call(page)
    single.copy(endAfter = 2 * single.endAfter)
  }

  /** The address of a page without possible secrets: user info, the URL's own query, parameters. */
  def pageUrl(page: PageRequest): String = {
    val query = pageCall.query(page)
    if (query.isEmpty) endpoint.toString else s"$endpoint?$query"
  }

  /** The part of a request that selects a counted page, for messages. */
  private[rest] def selector: String =
    if (pageCall.inUrl) s"the parameter '${paging.parameters.headOption.getOrElse("")}'"
    else "the placeholders of {option:requestBody}"

  /** The error of an API that returns the same page for every request. */
  private[rest] def samePage(request: String): EpochalException =
    errors.mismatch(request, s"the same page for every request: it ignores $selector")

  override def toString: String = s"ListRequests(${errors.source})"
}

/** How a list shows its end, and how far it is followed without that.
  *
  * @param end
  *   the option `endOfList`
  * @param emptyPages
  *   the option of that name
  * @param maxPages
  *   maximum pages per poll, if pages name the next one
  */
final private[rest] case class EndRules(end: String, emptyPages: Option[String], maxPages: Int) {

  /** Whether a list may end without stating so. */
  def assumed: Boolean = end == "assumed"

  /** Whether a page that names itself as the next one is the last. */
  def repeated: Boolean = end == "repeated"

  /** Whether a page without records is the last, even if it names a next one. */
  def empty: Boolean = emptyPages.contains("end")

  /** Maximum pages without records in a row that are skipped where no later poll continues after them. */
  def maxEmptyPages: Int = if (emptyPages.contains("skip")) Int.MaxValue else PagingOptions.MaxEmptyPages
}
