package io.epochal.kit.spark

/** The columns of a line's fields.
  *
  * @param columns
  *   for each field its column, or -1
  * @param names
  *   of the fields
  */
final class CsvLayout private[spark] (private[spark] val columns: Array[Int], private[spark] val names: Array[String])
