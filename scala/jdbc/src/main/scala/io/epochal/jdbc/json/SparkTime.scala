package io.epochal.jdbc.json

import org.apache.spark.sql.types._

/** Spark's TIME(p), in nanoseconds of the day. Matched by name, since Spark 4.0 does not have the type. */
private[jdbc] object SparkTime {
  private val Name = """time\((\d)\)""".r

  def is(dataType: DataType): Boolean = precision(dataType).isDefined

  /** Fractional second digits that the type keeps. */
  def precision(dataType: DataType): Option[Int] = dataType.typeName match {
    case Name(digits) => Some(digits.toInt)
    case _            => None
  }
}
