package io.epochal.spark.source.rest.supply

import java.time.Duration

import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}

/** How a stream looks for new records once it has seen the end.
  *
  * @param interval
  *   how long after it; None: whenever Spark asks
  * @param conditional
  *   whether an answer that the server says is the same need not be sent again
  */
final case class Refresh(interval: Option[Duration], conditional: Boolean)

private[rest] object RefreshOptions {

  val RefreshInterval: OptionSpec[Duration] = OptionSpec(
    "refreshInterval",
    OptionType.duration,
    "How long after the end of the API was seen it is asked for new records, in a stream. Unset: at each trigger.",
    sample = Some("30s"))
  val ConditionalRequests: OptionSpec[Boolean] = OptionSpec(
    "conditionalRequests",
    OptionType.boolean,
    "Whether the driver, which looks for new records, sends If-None-Match or If-Modified-Since where the API's last answer has an " +
      "ETag or a Last-Modified; 304 then means that nothing is new.",
    Some(true)
  )

  val all: Seq[OptionSpec[_]] = Seq(RefreshInterval, ConditionalRequests)

  def read(values: OptionValues): Refresh = Refresh(values.get(RefreshInterval), values(ConditionalRequests))
}
