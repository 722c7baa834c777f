package io.epochal.rest.source

import io.epochal.core.error.{Conditions, EpochalException, Plural}
import io.epochal.core.option.SourceOptions
import io.epochal.rest.http.{Endpoint, Refusal}

/** The errors and warnings about one list, with its address and identity. Serialized to the executors.
  *
  * @param source
  *   the identity in offsets
  * @param kind
  *   the pagination
  * @param failOnDrift
  *   whether a list that has become shorter, or has shifted, fails the query
  * @param keyField
  *   JSON Pointer to what identifies a record
  * @param isJson
  *   whether such a pointer can be set
  */
final case class ListErrors(
    endpoint: Endpoint,
    source: String,
    kind: String,
    failOnDataLoss: Boolean,
    failOnDrift: Boolean,
    keyField: Option[String],
    isJson: Boolean) {

  /** The warning about lost records, if that is no failure.
    *
    * @throws EpochalException
    *   DATA_LOSS otherwise
    */
  def dataLoss(from: Long, until: Long, reason: String, fails: Boolean = failOnDataLoss): String =
    SourceOptions.lost(source, fails)(from, until, reason)

  /** The warning about a list with fewer records than delivered, if that is no failure.
    *
    * @throws EpochalException
    *   DATA_LOSS otherwise
    */
  def drift(has: Long, deliveredRecords: Long): String =
    dataLoss(has, deliveredRecords, s"the API has only ${Plural.of(has, "record")} left", failOnDrift)

  /** The warning about a list whose records differ from those delivered, if that is no failure.
    *
    * @throws EpochalException
    *   LIST_SHIFTED otherwise
    */
  def shift(record: Long): String = {
    val condition = if (keyField.isEmpty && isJson) Conditions.ListShifted else ListErrors.Shifted
    val change = keyField.fold("the record itself changed or gained a field")(pointer => s"its '$pointer' changed")
    val shift = condition("source" -> source, "record" -> record, "change" -> change)
    if (failOnDrift) throw shift else shift.getMessage
  }

  private[rest] def incomplete(records: Long, part: NoPage.Incomplete): EpochalException =
    Conditions.ListIncomplete(
      "url" -> endpoint,
      "records" -> records,
      "reason" -> part.reason,
      "pagination" -> part.pagination)

  /** @param request
    *   the request, worded to follow "asked"
    * @param response
    *   worded to follow "it returned"
    */
  def mismatch(request: String, response: String): EpochalException =
    Conditions.PaginationMismatch("url" -> endpoint, "asked" -> request, "found" -> response, "pagination" -> kind)

  private[rest] def mismatch(page: PageRequest, response: String): EpochalException =
    mismatch(page.requestText, response)

  /** @param request
    *   the request for the page, worded to follow "asked"
    * @param refusal
    *   the response, which does not prove that the list ends before the page
    */
  private[rest] def pageRefusal(request: String, refusal: Refusal): EpochalException =
    Conditions.PageRefused(
      "url" -> endpoint,
      "asked" -> request,
      "status" -> refusal.status,
      "body" -> refusal.body,
      "pagination" -> kind)
}

private[rest] object ListErrors {

  /** LIST_SHIFTED where no `keyField` can be set. */
  private lazy val Shifted = Conditions.ListShifted.withHint(
    "Sort so that new records come last. {option:onDrift=warn} continues from here, " +
      "{option:onDrift=restart} reads the list again.")
}
