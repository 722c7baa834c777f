package io.epochal.kit.record

import java.util.UUID

import org.apache.spark.sql.types.StructType

/** The columns that a query needs.
  *
  * @param schema
  *   the selected columns
  * @param timeZone
  *   the session's, for texts without a zone
  * @param scan
  *   differs from query to query
  */
final private[epochal] case class RecordReading(
    schema: StructType,
    timeZone: String,
    scan: String = UUID.randomUUID().toString)
