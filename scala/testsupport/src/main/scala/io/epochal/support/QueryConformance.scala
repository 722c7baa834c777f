package io.epochal.support

import io.epochal.testkit.{Conformance, ConformanceTests}

/** What the conformance kit finds of a connector of ours: each promise is a test. Queries run in a session of the kit's, and in a
  * process that is killed.
  */
abstract class QueryConformance(final override protected val conformance: Conformance) extends ConformanceTests
