package io.epochal.rest.source.paging

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}

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

/** What becomes of a query whose list has become shorter than what was delivered of it, or has shifted. */
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

/** What is known of a counted list beside its pages.
  *
  * @param onDrift
  *   None: as `failOnDataLoss` says
  * @param key
  *   JSON Pointer within a record to what tells it from others; None: all of it does
  */
final case class Counting(total: Option[TotalFrom], onDrift: Option[OnDrift], key: Option[String] = None) {

  /** JSON Pointer to the number of all records. */
  def inBody: Option[String] = total.collect { case TotalFrom.Body(pointer) => pointer }
}

/** The options of lists whose records are counted. */
private[rest] object CountingOptions {

  val TotalCount: OptionSpec[String] = OptionSpec(
    "totalCount",
    OptionType.jsonPointer,
    "JSON Pointer to the number of all records in a response: the end is known from one request, and not searched for " +
      "(pagination=offset, page; bodyFormat=json).",
    sample = Some("/meta/total")
  )
  val TotalCountHeader: OptionSpec[String] = OptionSpec(
    "totalCountHeader",
    OptionType.string,
    "Header of a response with that number, in place of totalCount (pagination=offset, page).",
    sample = Some("X-Total-Count"))
  val Drift: OptionSpec[OnDrift] = OptionSpec(
    "onDrift",
    OptionType.choice(OnDrift.all)(_.name),
    "What happens to a query whose list has fewer records than were delivered, or others at their positions (LIST_SHIFTED): it fails (fail), goes on from there, once there are more again " +
      "(warn), or reads the list again from its first record, so that rows come twice (restart; not with partitionParams or journal=true) (pagination=none, offset, page). " +
      "Unset: fail, or warn with failOnDataLoss=false.",
    sample = Some("restart")
  )

  val all: Seq[OptionSpec[_]] = Seq(TotalCount, TotalCountHeader, Drift)

  def read(values: OptionValues): Either[EpochalException, Counting] = {
    def conflict(wrong: Boolean, options: => String, suggestion: => String): Either[EpochalException, Unit] =
      Either.cond(!wrong, (), values.conflict(options, suggestion))
    val drift = values.get(Drift)
    for {
      _ <- values.exclusive("Keep the one that the API uses.")(TotalCount, TotalCountHeader)
      _ <- conflict(
        values.isSet(TotalCount) && values(RecordOptions.Format) != "json",
        s"totalCount, bodyFormat=${values(RecordOptions.Format)}",
        "Set totalCountHeader instead: such a body has only records.")
      _ <- conflict(
        drift.contains(OnDrift.Restart) && values(PagingOptions.Journal),
        "onDrift=restart, journal=true",
        "Leave journal out: a journal has one list, from its first record to its last.")
    } yield {
      val total =
        values.get(TotalCount).map(TotalFrom.Body(_)).orElse(values.get(TotalCountHeader).map(TotalFrom.Header(_)))
      Counting(total, drift, values.get(PagingOptions.KeyField))
    }
  }
}
