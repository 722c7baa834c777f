package io.epochal.rest.source

import java.util.concurrent.atomic.AtomicBoolean

import org.slf4j.LoggerFactory

import io.epochal.kit.source.Extent
import io.epochal.rest.http.{HttpClient, HttpCounters}

/** How many records a counted list has, as far as the driver has requested it: the state of a [[CountedList]], over all
  * polls. Not thread-safe, except `known`.
  */
final private[rest] class RestFrontier(options: RestOptions, counters: HttpCounters) extends AutoCloseable {
  private val log = LoggerFactory.getLogger(classOf[RestFrontier])
  private val list = new CountedList(options)
  private val client = new HttpClient(options.requests.http, counters)
  private val contacted = new AtomicBoolean
  private val scan = options.requests.scan(list.total.pointer.toSeq)
  private val requests = new PageRequests(options.requests, client, scan, contacted)
  @volatile private var state = list.start

  /** The result of the last poll; None before the first. */
  def extent: Option[Extent] = state.extent

  /** As [[CountedList.exists]]. */
  def exists(start: Long, most: Long, marks: Seq[Mark] = Nil): Long = run(list.exists(start, most, marks))

  /** Whether the last poll found fewer records than `start`, or changed records before it. */
  def drifted(start: Long): Boolean = extent.exists(_.ends < start) || state.isShifted

  /** The marks of a position, for polls that continue from it.
    *
    * @param before
    *   those of the previous position
    */
  def marks(end: Long, before: Seq[Mark]): Seq[Mark] = state.marks.at(end, before)

  /** As [[CountedList.marksOfTasks]]. */
  def marksOfTasks(start: Long, end: Long, before: Seq[Mark]): Seq[Mark] = run(list.marksOfTasks(start, end, before))

  /** As [[CountedList.replay]], before the first request. */
  def replay(start: RestPosition, end: RestPosition): Unit = if (!contacted.get) run(list.replay(start, end))

  override def close(): Unit = client.close()

  private def run[A](step: ListStep[A]): A = {
    val (after, value) =
      try requests.run(step.from(state))
      finally requests.close()
    after.warning.foreach(log.warn)
    state = after.copy(warning = None)
    value
  }
}
