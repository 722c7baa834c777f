package io.epochal.kit.database

/** The type of a database's column. */
trait ColumnType extends Serializable {

  /** As it would be declared in SQL: `numeric(10,2)`. */
  def declaration: String
}
