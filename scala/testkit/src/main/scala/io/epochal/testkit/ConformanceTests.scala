package io.epochal.testkit

import scala.jdk.CollectionConverters._

import org.scalatest.BeforeAndAfterAll

/** One test per promise of a [[Conformance]]. The session is stopped after the suite. */
trait ConformanceTests extends PromiseTests with BeforeAndAfterAll {

  /** Called once, during construction of the suite. */
  protected def conformance: Conformance

  private val checks = conformance
  register(checks.subject, checks.checks.asScala.toSeq)

  override protected def afterAll(): Unit =
    try checks.release()
    finally super.afterAll()
}
