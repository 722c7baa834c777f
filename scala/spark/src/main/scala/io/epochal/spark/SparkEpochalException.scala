package io.epochal.spark

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkThrowable

import io.epochal.core.error.{Condition, EpochalException}

/** Our exception as one that Spark knows: with a condition (`EPOCHAL.DATA_LOSS`) and the values as message parameters, which
  * reach PySpark's `getCondition()` and `getMessageParameters()`, Spark Connect's error details and query events.
  */
final class SparkEpochalException private (condition: Condition, values: Map[String, String], cause: Throwable)
    extends EpochalException(condition, values, cause)
    with SparkThrowable {

  override def getCondition: String = s"EPOCHAL.${condition.name}"

  override def getMessageParameters: util.Map[String, String] = new util.TreeMap(values.asJava)

  // Spark would look it up among its own conditions.
  override def getSqlState: String = null
}

object SparkEpochalException {

  /** Found by name: `META-INF/services` of this jar. */
  final class Maker extends EpochalException.Maker {
    override def make(condition: Condition, values: Map[String, String], cause: Throwable): EpochalException =
      new SparkEpochalException(condition, values, cause)
  }
}
