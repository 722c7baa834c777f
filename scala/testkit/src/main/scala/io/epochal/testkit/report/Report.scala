package io.epochal.testkit.report

import java.util

import scala.jdk.CollectionConverters._

/** Findings of all checks of a connector. `toString` has a line per promise, with evidence below broken ones. */
final class Report(val subject: String, all: Seq[Finding]) {

  def findings: util.List[Finding] = all.asJava

  def kept: util.List[Finding] = all.filter(_.isKept).asJava

  def broken: util.List[Finding] = all.filter(_.isBroken).asJava

  def exempt: util.List[Finding] = all.filter(_.isExempt).asJava

  /** @throws AssertionError
    *   if a promise is broken; the message is the report
    */
  def assertAll(): Unit = if (!broken.isEmpty) {
    val error = new AssertionError(toString)
    all.map(_.outcome).collect { case Outcome.Broken(_, cause) => cause }.foreach(error.addSuppressed)
    throw error
  }

  override def toString: String = {
    val counts = s"${kept.size} kept, ${broken.size} broken, ${exempt.size} exempt"
    all.mkString(s"$subject: $counts\n  ", "\n  ", "").replace("\n         ", "\n           ")
  }
}
