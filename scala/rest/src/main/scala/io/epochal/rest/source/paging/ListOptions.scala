package io.epochal.rest.source.paging

import java.time.Duration

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}
import io.epochal.kit.source.PollBounds
import io.epochal.rest.http.request.OptionList

/** Where a response says how many records the whole list has. */
sealed trait TotalFrom extends Serializable {

  /** For a message. */
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

/** What happens to a query whose list has become shorter than what was delivered of it, or has shifted. */
sealed abstract class OnDrift(val name: String) extends Serializable

object OnDrift {

  /** It fails. */
  case object Fail extends OnDrift("fail")

  /** It goes on once the list is longer again. */
  case object Warn extends OnDrift("warn")

  /** It reads the list again from its first record. */
  case object Restart extends OnDrift("restart")

  val all: Seq[OnDrift] = Seq(Fail, Warn, Restart)
}

/** The settings of a counted list.
  *
  * @param onDrift
  *   None: as `failOnDataLoss` says
  * @param key
  *   JSON Pointer within a record to its identity; None: all of it
  */
final case class Counting(total: Option[TotalFrom], onDrift: Option[OnDrift], key: Option[String] = None) {

  /** JSON Pointer to the number of all records. */
  def inBody: Option[String] = total.collect { case TotalFrom.Body(pointer) => pointer }
}

/** The options of lists whose records are counted. */
private[rest] object CountingOptions extends OptionList {

  val TotalCount: OptionSpec[String] = option("totalCount", OptionType.jsonPointer, sample = Some("/meta/total"))(
    "JSON Pointer to the number of all records in a response: the end is known from one request, and not searched for " +
      "(pagination=offset, page; bodyFormat=json).")
  val TotalCountHeader: OptionSpec[String] =
    option("totalCountHeader", OptionType.string, sample = Some("X-Total-Count"))(
      "Header of a response with that number, in place of totalCount (pagination=offset, page).")
  val Drift: OptionSpec[OnDrift] = option("onDrift", OptionType.choice(OnDrift.all)(_.name), sample = Some("restart"))(
    "What happens to a query whose list has fewer records than were delivered, or others at their positions (LIST_SHIFTED): it fails (fail), goes on from there, once there are more again " +
      "(warn), or reads the list again from its first record, so that rows come twice (restart; not with partitionParams or journal=true) (pagination=none, offset, page). " +
      "Unset: fail, or warn with failOnDataLoss=false.")

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
  *   how long after it; None: whenever Spark asks
  * @param conditional
  *   whether a response that the server says is the same need not be sent again
  * @param bounds
  *   of one poll, where records are journalled
  */
final case class Refresh(interval: Option[Duration], conditional: Boolean, bounds: PollBounds)

private[rest] object PollOptions extends OptionList {

  val MaxPages: OptionSpec[Int] = option("maxPages", OptionType.int(1), Some(100000))(
    "Maximum pages that one poll of the API may request; a list that is longer is taken to be endless, and an error. Under AvailableNow " +
      "and in a batch read one poll reads to the end of the list (pagination=cursor, " +
      "keyset, link, next-url; with time-window the pages of one window).")
  val Journal: OptionSpec[Boolean] = option("journal", OptionType.boolean, Some(false))(
    "Whether responses are kept in the checkpoint until they are delivered, so that a replay does not request them again. " +
      "Always so with pagination=cursor, keyset, link, next-url and time-window.")

  val RefreshInterval: OptionSpec[Duration] = option("refreshInterval", OptionType.duration, sample = Some("30s"))(
    "How long after the end of the list was seen the next poll for new records follows, in a stream. Unset: at each trigger, and each second in a continuous or real-time query.")
  val ConditionalRequests: OptionSpec[Boolean] = option("conditionalRequests", OptionType.boolean, Some(true))(
    "Whether the driver, which polls for new records, sends If-None-Match or If-Modified-Since where the API's last response has an " +
      "ETag or a Last-Modified; 304 then means that nothing is new.")

  val MaxPollTime: OptionSpec[Duration] = option("maxPollTime", OptionType.duration, Some(Duration.ofMinutes(1)))(
    "How long one poll for records that are journalled may take, in a stream: what was received until then is a batch, and the next poll goes " +
      "on. Raise it where the trigger's interval is long and the list is, too.")
  val MaxPollBytes: OptionSpec[Long] = option("maxPollBytes", OptionType.bytes, Some(128L << 20))(
    "How many bytes of records that are journalled one poll may receive, in a stream: the page that brings more is the poll's last.")

  /** Of a continuous or real-time query, which has no triggers. */
  val FeedPause: Duration = Duration.ofSeconds(1)

  def read(values: OptionValues): Refresh = Refresh(
    values.get(RefreshInterval),
    values(ConditionalRequests),
    PollBounds(values(MaxPollTime), values(MaxPollBytes)))
}
