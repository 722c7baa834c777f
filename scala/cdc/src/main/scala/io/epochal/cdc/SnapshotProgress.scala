package io.epochal.cdc

/** How far the snapshot of a query is.
  *
  * @param tables
  *   that it has
  * @param left
  *   tables that are not complete
  * @param rows
  *   that were copied, in this run and before
  * @param before
  *   of these, in earlier runs
  * @param total
  *   rows of all tables, by the server's estimate; None: unknown yet
  * @param seconds
  *   that this run has copied for
  */
final private[cdc] case class SnapshotProgress(
    tables: Int,
    left: Int,
    rows: Long,
    before: Long,
    total: Option[Long],
    seconds: Double) {

  /** Until it is complete, at the pace of this run; NaN: unknown. */
  def secondsLeft: Double =
    if (left == 0) 0.0
    else if (rows <= before) Double.NaN
    else total.fold(Double.NaN)(all => math.max(0.0, (all - rows) * seconds / (rows - before)))

  def metrics: Map[String, String] = Map(
    "snapshotTables" -> tables.toString,
    "snapshotTablesLeft" -> left.toString,
    "snapshotRows" -> rows.toString,
    "snapshotRowsExpected" -> (if (left == 0) Some(rows) else total.map(math.max(_, rows))).fold("NaN")(_.toString),
    "snapshotSecondsLeft" -> SnapshotProgress.inTenths(secondsLeft)
  )
}

private[cdc] object SnapshotProgress {

  /** A tenth of a second is exact enough. */
  def inTenths(seconds: Double): String = if (seconds.isNaN) "NaN" else (math.round(seconds * 10) / 10.0).toString
}
