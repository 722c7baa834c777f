package io.epochal.core.offset

/** A stream whose tasks' rows a sink can count: after a restart at the same offset, each task has the same number and delivers
  * the same rows in the same order. Without Spark, so that streams of other teams can implement it.
  */
trait CountedStream {

  /** Whether the tasks, as planned last, are not those that were kept last: rows that are already stored cannot be found by their
    * place in a task.
    */
  def regrouped: Boolean = false

  /** Keeps the plan: a sink will recognise its tasks after a restart. Called in the query's thread, before they start. */
  def keepPartitions(): Unit = ()
}
