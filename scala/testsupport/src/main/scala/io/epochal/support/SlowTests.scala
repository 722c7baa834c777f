package io.epochal.support

import org.scalatest.tagobjects.Slow
import org.scalatest.{Tag, TestSuite}

/** Tags tests by their names, for suites that do not register their tests themselves. */
trait SlowTests extends TestSuite {

  /** Whether `make test` leaves this test out. */
  protected def isSlow(test: String): Boolean

  override def tags: Map[String, Set[String]] = testNames.filter(isSlow).foldLeft(super.tags) { (all, test) =>
    all.updated(test, all.getOrElse(test, Set.empty) + Slow.name)
  }
}

object SlowTests {

  /** Tags of a test that has variants: `make test` has only some of them. */
  def slowIf(variant: Boolean): Seq[Tag] = if (variant) Seq(Slow) else Nil
}
