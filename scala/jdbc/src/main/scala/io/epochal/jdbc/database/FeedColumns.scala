package io.epochal.jdbc.database

import org.apache.spark.unsafe.types.UTF8String

/** A change feed: rows with `_change_type`, `_commit_version` and perhaps `_unchanged_columns`, as `epochal-cdc` and Delta deliver
  * them. The image before an update deletes: the key may change. In encoded rows, a row that
  * deletes without a key empties the table. The version of rows that are only compared with the table begins with
  * [[FeedColumns.Compared]]; the first and the last have no key, and only the first deletes. Rows with the bounds of a
  * chunk delete; their version begins with [[FeedColumns.After]] or [[FeedColumns.Until]].
  *
  * @param width
  *   number of columns of the query's rows
  * @param version
  *   index of the version in them
  * @param unchanged
  *   index of the list of the columns that the row does not have
  * @param versionName
  *   of the version in encoded rows, a text that sorts by its bytes
  * @param unchangedName
  *   of those columns in encoded rows: a text with [[FeedColumns.mark]] of each, or NULL; it begins with [[FeedColumns.Moved]] if the
  *   row of an earlier key has their values
  */
final case class FeedColumns(
    width: Int,
    version: Int,
    unchanged: Option[Int],
    versionName: String,
    unchangedName: String)

object FeedColumns {
  val ChangeType = "_change_type"
  val Version = "_commit_version"
  val Timestamp = "_commit_timestamp"
  val Unchanged = "_unchanged_columns"
  val all: Seq[String] = Seq(ChangeType, Version, Timestamp, Unchanged)

  /** A column's entry in the text that lists the columns that a row lacks. */
  def mark(column: String): String = s"\n$column\n"

  val Moved: String = "+"

  /** Greater than any digit, and than `/`. */
  val Compared: UTF8String = UTF8String.fromString("~")

  /** Less than [[Compared]] with any digit. */
  val After: UTF8String = UTF8String.fromString("~(")
  val Until: UTF8String = UTF8String.fromString("~)")

  /** Ends the version of the last row of a comparison after which the table is corrected. */
  val Corrected: UTF8String = UTF8String.fromString("!")

  /** The source's version. */
  def sourceVersion(version: String): String = version.dropWhile("~()".contains(_))
}
