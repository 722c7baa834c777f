package io.epochal.jdbc.row

import org.apache.spark.sql.types.DataType

/** Spark's TIME(p), nanoseconds of the day. Spark 4.0 has no such type, so it is known by its name. */
private[jdbc] object SparkTime {
  private val Name = """time\((\d)\)""".r

  def is(dataType: DataType): Boolean = precision(dataType).isDefined

  /** Digits of a second that the type keeps. */
  def precision(dataType: DataType): Option[Int] = dataType.typeName match {
    case Name(digits) => Some(digits.toInt)
    case _            => None
  }
}
