package io.epochal.kit.spark

/** The identity of a query's run, for as long as it is held. */
final private[spark] class ThreadQuery(val id: String, execution: AnyRef) {
  val runId: String = RunningQuery.call(execution, "runId").toString

  /** The user's name for it. */
  val name: Option[String] = Option(RunningQuery.call(execution, "name")).map(_.toString)

  /** Whether it has ended or is stopping. */
  def ended: Boolean = !RunningQuery.isActive(execution)

  /** Fails a continuous query from any thread; does nothing while it is stopping. */
  def fail(error: Throwable): Unit = RunningQuery.end(execution)(error)
}
