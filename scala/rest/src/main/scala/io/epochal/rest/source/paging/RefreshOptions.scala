package io.epochal.rest.source.paging

import java.time.Duration

import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}
import io.epochal.kit.source.PollBounds

/** How a stream looks for new records once it has seen the end.
  *
  * @param interval
  *   how long after it; None: whenever Spark asks
  * @param conditional
  *   whether a response that the server says is the same need not be sent again
  * @param bounds
  *   of one poll, where records are journalled
  */
final case class Refresh(interval: Option[Duration], conditional: Boolean, bounds: PollBounds)

private[rest] object RefreshOptions {

  val RefreshInterval: OptionSpec[Duration] = OptionSpec(
    "refreshInterval",
    OptionType.duration,
    "How long after the end of the list was seen the next poll for new records follows, in a stream. Unset: at each trigger, and each second in a continuous or real-time query.",
    sample = Some("30s"))
  val ConditionalRequests: OptionSpec[Boolean] = OptionSpec(
    "conditionalRequests",
    OptionType.boolean,
    "Whether the driver, which polls for new records, sends If-None-Match or If-Modified-Since where the API's last response has an " +
      "ETag or a Last-Modified; 304 then means that nothing is new.",
    Some(true)
  )

  val MaxPollTime: OptionSpec[Duration] = OptionSpec(
    "maxPollTime",
    OptionType.duration,
    "How long one poll for records that are journalled may take, in a stream: what was received until then is a batch, and the next poll goes " +
      "on. Raise it where the trigger's interval is long and the list is, too.",
    Some(Duration.ofMinutes(1))
  )
  val MaxPollBytes: OptionSpec[Long] = OptionSpec(
    "maxPollBytes",
    OptionType.bytes,
    "How many bytes of records that are journalled one poll may receive, in a stream: the page that brings more is the poll's last.",
    Some(128L << 20)
  )

  /** Of a continuous or real-time query, which has no triggers. */
  val FeedPause: Duration = Duration.ofSeconds(1)

  val all: Seq[OptionSpec[_]] = Seq(RefreshInterval, ConditionalRequests, MaxPollTime, MaxPollBytes)

  def read(values: OptionValues): Refresh = Refresh(
    values.get(RefreshInterval),
    values(ConditionalRequests),
    PollBounds(values(MaxPollTime), values(MaxPollBytes)))
}
