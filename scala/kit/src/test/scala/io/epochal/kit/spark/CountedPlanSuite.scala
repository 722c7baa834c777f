package io.epochal.testkit.engine {

  /** A stream whose name is like that of the testkit's own. */
  final class Uncounted
}

package io.epochal.kit.spark {

  import org.scalatest.funsuite.AnyFunSuite

  import io.epochal.core.offset.CountedStream
  import io.epochal.testkit.engine.Uncounted

  final class CountedPlanSuite extends AnyFunSuite {

    test("a stream declares that its rows can be counted; no name of a class does") {
      assert(CountedPlan.unsteady(new CountedStream {}).isEmpty)
      assert(CountedPlan.unsteady(new Uncounted).exists(_.startsWith("Uncounted may give other rows")))
    }
  }
}
