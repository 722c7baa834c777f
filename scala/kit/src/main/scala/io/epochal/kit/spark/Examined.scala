package io.epochal.kit.spark

import org.apache.spark.sql.catalyst.InternalRow

/** A record that was parsed again, value by value.
  *
  * @param row
  *   the values that fit; columns whose value does not fit are NULL
  * @param reason
  *   what does not fit, by names and types, without values. None if everything fits
  */
final case class Examined(row: InternalRow, reason: Option[String])
