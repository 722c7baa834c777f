package io.epochal.formats

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.Conditions

final class SupportedSparkSuite extends AnyFunSuite {

  test("Spark before 4.0 is refused with the text of SPARK_UNSUPPORTED, which names the supported lines") {
    val said = Conditions.SparkUnsupported("found" -> "3.5.6", "supported" -> "4.0, 4.1, 4.2 and 4.3").getMessage
    assert(SupportedSpark.problem("3.5.6") == said)
  }

  test("supported and newer versions are accepted, including this one") {
    assert(Seq("4.0.0", "4.3.0", "4.4.0-SNAPSHOT", "10.0.0").forall(SupportedSpark.problem(_) == null))
    assert(new SupportedSpark().shortName.nonEmpty)
  }
}
