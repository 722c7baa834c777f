package io.epochal.rest.sink

/** A row that is missing is created by a second request.
  *
  * @param missing
  *   status of the response to the first one
  */
final case class UpsertSettings(missing: Int, create: RequestUrl)
