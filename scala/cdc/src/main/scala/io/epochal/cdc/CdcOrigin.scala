package io.epochal.cdc

/** Where the changes come from: fixed at the first start of a query.
  *
  * @param system
  *   the server's system identifier
  * @param start
  *   the log position at which changes begin
  * @param snapshot
  *   whether the rows of the table come first
  * @param inChunks
  *   whether they come in chunks, while changes are delivered
  * @param tables
  *   if several are captured, those of the first start, by name, with their OIDs; else empty
  * @param table
  *   if one is captured, its name and OID; None in a checkpoint of an older release
  * @param newTables
  *   of whole schemas, if the publication has their new tables: the first transaction number that had not begun when changes began
  * @param isWatched
  *   whether the checkpoint has the state of the server's catalog; false in one of an older release
  * @param rows
  *   of several tables
  */
final private[cdc] case class CdcOrigin(
    slot: String,
    publication: String,
    system: String,
    timeline: Long,
    start: Long,
    snapshot: Boolean,
    tables: Map[String, Long] = Map.empty,
    newTables: Option[Long] = None,
    table: Option[(String, Long)] = None,
    isWatched: Boolean = false,
    rows: RowShape = RowShape.Json,
    inChunks: Boolean = false)
