package io.epochal.rest.http.request

/** What a query may ask of its server, driver and all tasks together. None: no limit.
  *
  * @param requestsPerSecond
  *   requests that may start in a second
  * @param maxConcurrency
  *   requests that may be under way at the same time
  */
final case class HttpBudget(requestsPerSecond: Option[Double], maxConcurrency: Option[Int]) {

  /** How many of the tasks wanted can have a part of it: each needs a request of its own. */
  def tasks(wanted: Int): Int = maxConcurrency.fold(wanted)(math.min(wanted, _))

  /** All of it: the driver's, which asks while no task does. */
  def whole: HttpShare = HttpShare(requestsPerSecond, maxConcurrency)

  /** Parts that together are the whole.
    *
    * @param tasks
    *   no more than [[tasks]] gives
    */
  def shares(tasks: Int): Seq[HttpShare] = (0 until tasks).map { i =>
    HttpShare(
      requestsPerSecond.map(_ / tasks),
      maxConcurrency.map(most => math.max(1, most / tasks + (if (i < most % tasks) 1 else 0))))
  }
}

object HttpBudget {
  val unlimited: HttpBudget = HttpBudget(None, None)
}

/** What of a query's budget one task may use; the driver grants it with the task's partition. */
final case class HttpShare(requestsPerSecond: Option[Double], concurrency: Option[Int])
