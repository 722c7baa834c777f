package io.epochal.rest.sink

/** `mode=changes`: each row inserts, updates or deletes.
  *
  * @param operation
  *   column with the operation; None: `_change_type`
  * @param deletes
  *   where DELETE requests of one row go; None: rows that delete are in the body, by `deleteTemplate`
  * @param upsert
  *   None: the response to an update of a missing row is an error
  */
final case class ChangeSettings(
    operation: Option[String],
    deletes: Option[RequestUrl],
    deleteTemplate: Seq[TemplatePiece],
    upsert: Option[UpsertSettings])

/** A row that is missing is created by a second request.
  *
  * @param missing
  *   status of the response to the first one
  */
final private[rest] case class UpsertSettings(missing: Int, create: RequestUrl)
