package io.epochal.kit

import org.apache.spark.SparkThrowable
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.Conditions

final class SparkEpochalExceptionSuite extends AnyFunSuite {

  test("every error is a SparkThrowable with its condition, and of a class whose short name PySpark shows") {
    val error: Throwable = Conditions.HttpTimeout("url" -> "http://x", "timeout" -> "5s", "attempts" -> 8)
    assert(error.isInstanceOf[IllegalArgumentException])
    error match {
      case known: SparkThrowable =>
        assert(known.getCondition == "EPOCHAL.HTTP_TIMEOUT")
        assert(known.getMessageParameters.get("url") == "http://x")
        assert(known.getMessageParameters.get("markup").contains("Raise {option:timeout}, or"))
      case other => fail(s"no SparkThrowable: ${other.getClass}")
    }
  }
}
