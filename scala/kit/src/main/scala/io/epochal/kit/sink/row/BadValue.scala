package io.epochal.kit.sink.row

import scala.util.control.NoStackTrace

import io.epochal.core.annotation.Stable

/** A value that the column cannot hold. The writer adds the row's number.
  *
  * @param column
  *   index in the query's rows
  */
@Stable
final class BadValue(val column: Int, val reason: String) extends RuntimeException(reason) with NoStackTrace

object BadValue {
  val Missing = "it is NULL, and the column must have a value"
}
