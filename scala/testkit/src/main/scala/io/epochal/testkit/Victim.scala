package io.epochal.testkit

import io.epochal.testkit.engine.{ChildJvm, KillStep, QuerySpec}
import io.epochal.testkit.report.Promise

/** A query that is killed at a step of an epoch, and the assertions about its recovery. */
abstract private[testkit] class Victim(val promise: Promise, val step: KillStep, scene: AutoCloseable)
    extends AutoCloseable {
  def query: QuerySpec

  /** Adds the rows that the query needs to reach its step. Called after the query was started in the other process.
    */
  def feed(child: ChildJvm): Unit

  /** Whether the query continues after all queries have reached their steps, until the kill. */
  def continues: Boolean = false

  /** Whether a query that continues has progressed far enough to be killed. */
  def isVisible: Boolean = true

  /** Restarts the query in this process and asserts its result. */
  def recover(): Unit

  final override def close(): Unit = scene.close()
}
