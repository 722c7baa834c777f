package io.epochal.jdbc.database

import io.epochal.kit.database.ColumnType

/** A column of the target.
  *
  * @param nullable
  *   false also if the database takes a NULL but stores something else (SQLite's `INTEGER PRIMARY KEY`)
  * @param filled
  *   the database supplies a value if a row has none
  * @param generated
  *   always computed by the database: no row can supply a value
  * @param remedy
  *   the statement after which rows can supply the values of a generated column, if there is one
  * @param isPlain
  *   whether a new declaration of the column loses nothing, such as a collation or a comment
  */
final case class TargetColumn(
    name: String,
    columnType: ColumnType,
    nullable: Boolean,
    filled: Boolean,
    generated: Boolean,
    remedy: Option[String] = None,
    isPlain: Boolean = true
)
