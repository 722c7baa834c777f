package io.epochal.rest.source

import java.time.Duration

import io.epochal.core.option.OptionType
import io.epochal.kit.access.SecretOptionList
import io.epochal.kit.source.journal.Feeding

/** The options of a stream's polls for new records. */
private[rest] object PollOptions extends SecretOptionList {

  val MaxPages = option("maxPages", OptionType.int(1), Some(100000))(
    "Maximum pages per poll (time-window: per window); more are an error. AvailableNow and batch reads take one poll to the end (pagination=cursor, keyset, link, next-url).")
  val Journal = option("journal", OptionType.boolean, Some(false))(
    "Whether undelivered responses are kept in the checkpoint, so that replays do not request them again. Always true with pagination=cursor, keyset, link, next-url and time-window.")

  val RefreshInterval = option("refreshInterval", OptionType.duration, sample = Some("30s"))(
    "Delay between polls at the end of the list. Unset: 1s, doubled up to 30s while polls find nothing (those answered by 304 do not count); always 1s in continuous and real-time queries. Time windows are polled at each trigger.")
  val ConditionalRequests = option("conditionalRequests", OptionType.boolean, Some(true))(
    "Whether polls send the last ETag or Last-Modified, so that the API can answer 304.")

  val MaxPollTime = option("maxPollTime", OptionType.duration, Some(Duration.ofMinutes(1)))(
    "Maximum duration of a poll with a journal, in a stream; the next poll continues. Raise it for long trigger intervals.")
  val MaxPollBytes = option("maxPollBytes", OptionType.bytes, Some(128L << 20))(
    "Record bytes after which a poll with a journal ends, in a stream.")
  val MaxJournalBytes = option("maxJournalBytes", OptionType.bytes, Some(Feeding.MaxBytes))(
    "Received bytes that may wait to be read in a continuous or real-time query; beyond it the list is not polled.")

  /** The poll interval if none is set: of continuous and real-time queries, and of others while records come. */
  val LeastInterval: Duration = Duration.ofSeconds(1)
}
