package io.epochal.rest.sink

/** Where a response has the result of each row. All but `success` are JSON Pointers.
  *
  * @param success
  *   empty: 200 to 299, and true
  */
final case class ResultSettings(array: String, status: String, success: Set[String], reason: Option[String])
