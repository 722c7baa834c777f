package io.epochal.kit.sink

/** Spark's asynchronous progress tracking, as a query's options ask for it: an epoch's offsets may then be logged after its rows were
  * written. No sink of this kit can work so.
  */
object AsynchronousProgress {

  def isEnabled(options: Map[String, String]): Boolean = isTrue(options, "asyncProgressTrackingEnabled")

  /** Whether Spark is not to look whether the sink supports it; in real time Spark 4.3 tracks so unless it is told not to. */
  def isForced(options: Map[String, String]): Boolean =
    isTrue(options, "_asyncProgressTrackingOverrideSinkSupportCheck")

  private def isTrue(options: Map[String, String], name: String): Boolean =
    options.exists { case (option, value) => option.equalsIgnoreCase(name) && value.trim.equalsIgnoreCase("true") }
}
