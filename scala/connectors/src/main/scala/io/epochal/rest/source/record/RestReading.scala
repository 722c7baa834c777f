package io.epochal.rest.source.record

import org.apache.spark.sql.types.StructType

/** What of a record becomes a row.
  *
  * @param schema
  *   the columns asked for
  * @param timeZone
  *   the session's: a text that names no zone is a time there
  */
final private[rest] case class RestReading(schema: StructType, timeZone: String)
