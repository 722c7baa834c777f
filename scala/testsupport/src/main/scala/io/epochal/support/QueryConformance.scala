package io.epochal.support

import io.epochal.testkit.{Conformance, ConformanceTests}

/** Conformance suite of one of our connectors, with one test per promise. Queries run in the kit's session and in a process that is
  * killed; `make test` kills only the drivers of `tests/crash`.
  */
abstract class QueryConformance(final override protected val conformance: Conformance)
    extends ConformanceTests
    with SlowTests {

  override protected def isSlow(test: String): Boolean = Seq("killed ", "stopped and started").exists(test.contains(_))
}
