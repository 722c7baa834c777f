package io.epochal.jdbc.database

/** The query's column that says whether a row stores or deletes. Encoded rows carry it to the database as one more column, a
  * boolean: whether the row deletes.
  *
  * @param ordinal
  *   index in the query's rows
  * @param name
  *   of that boolean; no column of the table has this name
  * @param feed
  *   further columns, if the query is a change feed
  */
final case class OperationColumn(ordinal: Int, name: String, feed: Option[FeedColumns] = None) {

  /** The columns of encoded rows that follow those of the table. */
  def names: Seq[String] = name +: feed.toSeq.flatMap(columns => Seq(columns.versionName, columns.unchangedName))
}
