package io.epochal.support

import io.epochal.testkit.{Conformance, ConformanceTests}

/** Conformance suite of one of our connectors, with one test per promise. Queries run in the kit's session and in a process that is
  * killed.
  */
abstract class QueryConformance(final override protected val conformance: Conformance) extends ConformanceTests
