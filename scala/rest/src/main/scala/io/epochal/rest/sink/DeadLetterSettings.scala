package io.epochal.rest.sink

import io.epochal.rest.http.HttpStatuses

/** @param statuses
  *   response statuses that blame the request's rows
  * @param limit
  *   per epoch
  */
final case class DeadLetterSettings(path: String, statuses: HttpStatuses, limit: Int)
