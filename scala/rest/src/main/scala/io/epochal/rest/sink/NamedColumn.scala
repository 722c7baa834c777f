package io.epochal.rest.sink

import org.apache.spark.sql.types._

/** A column of the query that an option refers to.
  *
  * @param ordinal
  *   position in the query's rows
  */
final private[rest] case class NamedColumn(field: StructField, ordinal: Int)
