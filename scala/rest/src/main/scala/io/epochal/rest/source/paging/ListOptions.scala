package io.epochal.rest.source.paging

import java.time.Duration

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}
import io.epochal.kit.source.PollBounds
import io.epochal.rest.http.request.OptionList

/** Where a response has the total number of records of the list. */
sealed trait TotalFrom extends Serializable {

  /** Its name in a message. */
  def place: String
}

object TotalFrom {

  /** @param pointer
    *   JSON Pointer
    */
  final case class Body(pointer: String) extends TotalFrom {
    override def place: String = s"'$pointer'"
  }

  final case class Header(name: String) extends TotalFrom {
    override def place: String = s"the header $name"
  }
}

/** The reaction to a list that has fewer records than delivered, or has shifted. */
sealed abstract class OnDrift(val name: String) extends Serializable

object OnDrift {

  /** The query fails. */
  case object Fail extends OnDrift("fail")

  /** The query resumes once the list is longer again. */
  case object Warn extends OnDrift("warn")

  /** The query reads the list again from its first record. */
  case object Restart extends OnDrift("restart")

  val all: Seq[OnDrift] = Seq(Fail, Warn, Restart)
}

/** The settings of a counted list.
  *
  * @param onDrift
  *   None: `failOnDataLoss` decides
  * @param key
  *   JSON Pointer within a record to its identity; None: the whole record
  */
final case class Counting(total: Option[TotalFrom], onDrift: Option[OnDrift], key: Option[String] = None) {

  /** JSON Pointer to the total number of records. */
  def inBody: Option[String] = total.collect { case TotalFrom.Body(pointer) => pointer }
}

/** The options of lists whose records are counted. */
private[rest] object CountingOptions extends OptionList {

  val TotalCount: OptionSpec[String] = option("totalCount", OptionType.jsonPointer, sample = Some("/meta/total"))(
    "JSON Pointer to the total number of records, which saves the search for the end (pagination=offset, page; bodyFormat=json).")
  val TotalCountHeader: OptionSpec[String] =
    option("totalCountHeader", OptionType.string, sample = Some("X-Total-Count"))(
      "Response header with that number, instead of totalCount (pagination=offset, page).")
  val Drift: OptionSpec[OnDrift] = option("onDrift", OptionType.choice(OnDrift.all)(_.name), sample = Some("restart"))(
    "If a list has fewer records than delivered, or others at their positions (LIST_SHIFTED): fail; warn resumes once there are more; restart reads all again, so rows come twice (not with partitionParams or journal=true) (pagination=none, offset, page). Unset: fail, or warn with failOnDataLoss=false.")

  def read(values: OptionValues): Either[EpochalException, Counting] = {
    def conflict(wrong: Boolean, options: => String, suggestion: => String): Either[EpochalException, Unit] =
      values.consistent(!wrong)(options, suggestion)
    val drift = values.get(Drift)
    for {
      _ <- values.exclusive("Keep the one that the API uses.")(TotalCount, TotalCountHeader)
      _ <- conflict(
        values.isSet(TotalCount) && values(RecordOptions.Format) != "json",
        s"{option:totalCount}, {option:bodyFormat=${values(RecordOptions.Format)}}",
        "Set {option:totalCountHeader} instead: such a body has only records.")
      _ <- conflict(
        drift.contains(OnDrift.Restart) && values(PollOptions.Journal),
        "{option:onDrift=restart}, {option:journal=true}",
        "Leave {option:journal} out: a journal has one list, from its first record to its last.")
    } yield {
      val total =
        values.get(TotalCount).map(TotalFrom.Body(_)).orElse(values.get(TotalCountHeader).map(TotalFrom.Header(_)))
      Counting(total, drift, values.get(PagingOptions.KeyField))
    }
  }
}

/** How a stream polls for new records once it has seen the end.
  *
  * @param interval
  *   delay after the end was seen; None: at each trigger
  * @param conditional
  *   whether polls are conditional requests
  * @param bounds
  *   limits of one poll, if records are journalled
  */
final case class Refresh(interval: Option[Duration], conditional: Boolean, bounds: PollBounds)

private[rest] object PollOptions extends OptionList {

  val MaxPages: OptionSpec[Int] = option("maxPages", OptionType.int(1), Some(100000))(
    "Maximum pages per poll (time-window: per window); more are an error. AvailableNow and batch reads take one poll to the end (pagination=cursor, keyset, link, next-url).")
  val Journal: OptionSpec[Boolean] = option("journal", OptionType.boolean, Some(false))(
    "Whether undelivered responses are kept in the checkpoint, so that replays do not request them again. Always true with pagination=cursor, keyset, link, next-url and time-window.")

  val RefreshInterval: OptionSpec[Duration] = option("refreshInterval", OptionType.duration, sample = Some("30s"))(
    "Delay between polls at the end of the list. Unset: each trigger, or each second in continuous and real-time queries.")
  val ConditionalRequests: OptionSpec[Boolean] = option("conditionalRequests", OptionType.boolean, Some(true))(
    "Whether polls send the last ETag or Last-Modified, so that the API can answer 304.")

  val MaxPollTime: OptionSpec[Duration] = option("maxPollTime", OptionType.duration, Some(Duration.ofMinutes(1)))(
    "Maximum duration of a poll with a journal, in a stream; the next poll continues. Raise it for long trigger intervals.")
  val MaxPollBytes: OptionSpec[Long] = option("maxPollBytes", OptionType.bytes, Some(128L << 20))(
    "Record bytes after which a poll with a journal ends, in a stream.")

  /** Poll interval of a continuous or real-time query, which has no triggers. */
  val FeedPause: Duration = Duration.ofSeconds(1)

  def read(values: OptionValues): Refresh = Refresh(
    values.get(RefreshInterval),
    values(ConditionalRequests),
    PollBounds(values(MaxPollTime), values(MaxPollBytes)))
}
