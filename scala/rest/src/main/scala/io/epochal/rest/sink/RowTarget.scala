package io.epochal.rest.sink

/** Where a row is sent.
  *
  * @param deletes
  *   whether by a DELETE request
  * @param values
  *   of the columns in its URL
  * @param create
  *   of those in `createUrl`
  */
final private[rest] case class RowTarget(deletes: Boolean, values: Seq[String], create: Seq[String])
