package io.epochal.jdbc.database

import org.apache.spark.sql.types.StructField

/** A column of the query and the table's column that takes it.
  *
  * @param ordinal
  *   index in the query's rows
  * @param required
  *   a NULL here is a bad row
  * @param identifies
  *   present also in a row that deletes: a key, or the order
  */
final case class BoundColumn(
    field: StructField,
    ordinal: Int,
    column: TargetColumn,
    required: Boolean,
    identifies: Boolean = false)
