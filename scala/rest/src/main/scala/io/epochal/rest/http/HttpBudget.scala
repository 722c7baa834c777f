package io.epochal.rest.http

/** The maximum rate and concurrency of a query's requests, for the driver and all tasks together, or a task's share of
  * it, which the driver grants with the task's partition. None: no limit.
  *
  * @param requestsPerSecond
  *   maximum request starts per second
  * @param maxConcurrency
  *   maximum concurrent requests
  */
final case class HttpBudget(requestsPerSecond: Option[Double], maxConcurrency: Option[Int]) {

  /** Maximum number of tasks that get a share: each needs at least one concurrent request. */
  def tasks(max: Int): Int = maxConcurrency.fold(max)(math.min(max, _))

  /** Shares that add up to the whole.
    *
    * @param tasks
    *   at most the result of [[tasks]]
    */
  def shares(tasks: Int): Seq[HttpBudget] = (0 until tasks).map { i =>
    HttpBudget(
      requestsPerSecond.map(_ / tasks),
      maxConcurrency.map(total => math.max(1, total / tasks + (if (i < total % tasks) 1 else 0))))
  }

  /** A share of it for another client of the same task, which adds nothing to the task's own. */
  def nothing: HttpBudget = HttpBudget(requestsPerSecond.map(_ => 0.0), maxConcurrency.map(_ => 0))

  /** The lower limits of both. */
  def and(other: HttpBudget): HttpBudget = HttpBudget(
    (requestsPerSecond ++ other.requestsPerSecond).minOption,
    (maxConcurrency ++ other.maxConcurrency).minOption)
}

object HttpBudget {
  val Unlimited: HttpBudget = HttpBudget(None, None)
}
