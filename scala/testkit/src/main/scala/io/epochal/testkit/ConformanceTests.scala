package io.epochal.testkit

import scala.jdk.CollectionConverters._

import org.scalatest.BeforeAndAfterAll

/** A test for each promise of a [[Conformance]], and the end of the session that its checks have made. */
trait ConformanceTests extends PromiseTests with BeforeAndAfterAll {

  /** Asked once, while the suite is made. */
  protected def conformance: Conformance

  private val checked = conformance
  register(checked.subject, checked.checks.asScala.toSeq)

  override protected def afterAll(): Unit =
    try checked.release()
    finally super.afterAll()
}
