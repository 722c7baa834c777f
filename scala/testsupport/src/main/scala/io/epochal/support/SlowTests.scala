package io.epochal.support

import org.scalatest.TestSuite
import org.scalatest.tagobjects.Slow

/** Tags tests by their names, for suites that do not register their tests themselves. */
trait SlowTests extends TestSuite {

  /** Whether `make test` leaves this test out. */
  protected def isSlow(test: String): Boolean

  override def tags: Map[String, Set[String]] = testNames.filter(isSlow).foldLeft(super.tags) { (all, test) =>
    all.updated(test, all.getOrElse(test, Set.empty) + Slow.name)
  }
}
