package io.epochal.rest.source

import java.time.{Clock, Duration}

import io.epochal.kit.source.journal.{Feeding, ReadAhead}
import io.epochal.rest.http.HttpCounters

/** One list of records, with the resources that its supply needs.
  *
  * @param tasks
  *   maximum partitions of a batch if `numPartitions` is not set
  */
final private[rest] class RestList(
    val options: RestOptions,
    val journal: RestJournal.Files,
    val counters: HttpCounters,
    val clock: Clock,
    val ahead: ReadAhead,
    val feeding: Option[Feeding[RestPosition]],
    tasks: => Int) {

  def partitions: Int = options.numPartitions.getOrElse(tasks)

  /** Limits how often the end of the list is polled. Time windows, whose length limits that, are polled at each trigger. */
  def pace: PollPace = {
    val unset = Option.when(options.requests.paging.isInstanceOf[TimeWindow])(Duration.ZERO)
    new PollPace(options.values.get(PollOptions.RefreshInterval).orElse(unset), clock, () => counters.chargedRequests)
  }
}
