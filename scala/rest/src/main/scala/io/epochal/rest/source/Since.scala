package io.epochal.rest.source

import java.time.{Duration, Instant}

import scala.util.Try

import com.fasterxml.jackson.core.JsonPointer
import com.fasterxml.jackson.databind.JsonNode

/** Records that change: each poll requests the records whose field has at least some value, and reads all pages of that
  * request, a pass. The next pass requests from the greatest value of this one, less `lag`; [[SinceVersions]] recognises
  * what was delivered.
  *
  * Not guaranteed: that a record is delivered whose field is set to a lower value than the next pass requests.
  *
  * @param field
  *   JSON Pointer within a record
  * @param param
  *   the parameter that has the value in a request; None: it is in the body
  * @param start
  *   sent by the first pass; None: it requests all records
  * @param format
  *   of moments; None: values are numbers or texts, which are sent as they are
  * @param inclusive
  *   whether the API returns records with the requested value itself; if not, one unit less is requested
  * @param keys
  *   the fields that identify a record
  */
final private[rest] case class Since(
    field: String,
    param: Option[String],
    start: Option[String],
    format: Option[InstantFormat],
    inclusive: Boolean,
    lag: Duration,
    keys: Seq[String]) {
  import SinceValue.{Moment, Number, Text}

  private val pointer = JsonPointer.compile(field)
  private val unit = format.fold(Duration.ZERO)(_.unit)

  /** The least value of a record that the first pass delivers. */
  val first: Option[SinceValue] = format.flatMap(_ => start).flatMap(SinceMoments.parse).map(Moment(_))

  /** The value of a record; None if it is not of the format, or cannot be compared with an earlier one. */
  def read(record: JsonNode, earlier: Option[SinceValue]): Option[SinceValue] =
    value(record.at(pointer)).filter(next => earlier.forall(_.getClass == next.getClass))

  private def value(node: JsonNode): Option[SinceValue] = format match {
    case Some(moments) =>
      val number = perSecond(moments).flatMap(per => decimal(node).flatMap(SinceMoments.ofNumber(_, per)))
      number.orElse(Option.when(node.isTextual)(node.textValue).flatMap(SinceMoments.parse)).map(Moment(_))
    case None if node.isTextual => Some(node.textValue).filter(text => inclusive && text.nonEmpty).map(Text(_))
    case None                   => decimal(node).filter(_ => node.isNumber).map(Number(_))
  }

  /** How many units a second has, if moments are numbers. */
  private def perSecond(moments: InstantFormat): Option[Int] = moments match {
    case InstantFormat.EpochSeconds => Some(1)
    case InstantFormat.EpochMillis  => Some(1000)
    case _                          => None
  }

  /** None for exponents that would make the text very long. */
  private def decimal(node: JsonNode): Option[BigDecimal] =
    Try(if (node.isNumber) BigDecimal(node.decimalValue) else BigDecimal(node.asText)).toOption
      .filter(_.scale.abs < 1000)

  /** The values that [[read]] accepts, in a message. */
  def acceptedValues: String = format match {
    case Some(moments)     => s"a moment that {option:sinceFormat=${moments.name}} can read"
    case None if inclusive => "a number or a text, as in the records before"
    case None              => "a number, since {option:sinceInclusive=false} requests one less"
  }

  /** The least value that the next pass requests, if the greatest one is this: at most the start of the pass. A page that
    * was read before may lack a change since then, and a moment in the future must not hide later changes.
    */
  def bound(greatest: SinceValue, passStart: Instant): SinceValue = greatest match {
    case Moment(at) =>
      val latest = if (at.isAfter(passStart)) passStart else at
      Moment(format.fold(latest)(_.floor(latest.minus(lag))))
    case other => other
  }

  /** The requests of a pass through a list.
    *
    * @param from
    *   the least value of the pass
    */
  def passRequests(list: ListRequests, from: Option[SinceValue]): ListRequests =
    (param, from.map(text).orElse(start)) match {
      case (_, None) => list
      case (Some(name), Some(value)) =>
        list.at(list.endpoint.withQuery(Seq(name -> value)))
      case (None, Some(value)) => list.copy(pageCall = list.pageCall.copy(since = Some(json(from, value))))
    }

  /** The JSON of a value in a body. */
  private def json(from: Option[SinceValue], text: String): String = from match {
    case None                                                    => BodyOptions.json(text)
    case Some(_: Number)                                         => text
    case Some(_: Moment) if format.exists(perSecond(_).nonEmpty) => text
    case _                                                       => BodyOptions.jsonString(text)
  }

  /** The least value that the API can return. */
  def least(from: SinceValue): SinceValue = if (inclusive) from
  else
    from match {
      case Moment(at)    => Moment(at.minus(unit))
      case Number(value) => Number(value - 1)
      case other         => other
    }

  private def text(from: SinceValue): String = least(from) match {
    case Moment(at)    => format.fold(at.toString)(_.text(at))
    case Number(value) => value.bigDecimal.toPlainString
    case Text(value)   => value
  }
}
