package io.epochal.kit.spark

import org.apache.spark.sql.catalyst.InternalRow

/** A record that was read once more, value by value.
  *
  * @param row
  *   what fits; columns whose value does not fit are NULL
  * @param reason
  *   what does not fit, by names and types: no value is in it. None where everything fits
  */
final case class Examined(row: InternalRow, reason: Option[String])
