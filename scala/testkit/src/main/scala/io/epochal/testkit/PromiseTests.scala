package io.epochal.testkit

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.testkit.report.{Check, Outcome}

/** One ScalaTest test per promise: it fails if the promise is broken, and is canceled if it is exempt. */
trait PromiseTests extends AnyFunSuite {

  final protected def register(subject: String, checks: Seq[Check]): Unit =
    checks.foreach { check =>
      test(s"$subject: ${check.promise.claim}") {
        check.run().outcome match {
          case Outcome.Kept                    => succeed
          case Outcome.Broken(evidence, cause) => fail(evidence, cause)
          case Outcome.Exempt(reason)          => cancel(reason)
        }
      }
    }
}
