package io.epochal.jdbc.database

/** A column's type as its dialect knows it. */
trait ColumnType extends Serializable {

  /** As it would be declared in SQL: `numeric(10,2)`. */
  def declared: String
}
