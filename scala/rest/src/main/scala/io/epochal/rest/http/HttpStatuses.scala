package io.epochal.rest.http

import java.util.Locale

import io.epochal.core.option.OptionType

/** Response statuses, by number or by class (`5xx`). */
final case class HttpStatuses(names: Seq[String]) {
  private val codes = names.flatMap(_.toIntOption).toSet
  private val hundreds = names.filter(_.endsWith("xx")).map(_.head.asDigit).toSet

  def contains(code: Int): Boolean = codes(code) || hundreds(code / 100)

  override def toString: String = if (names.isEmpty) HttpStatuses.NoneWord else names.mkString(",")
}

object HttpStatuses {
  val none: HttpStatuses = HttpStatuses(Nil)

  val transient: HttpStatuses = HttpStatuses(Seq("408", "429", "5xx"))

  private val NoneWord = "none"
  private val Name = "[3-5](?:[0-9]{2}|xx)"

  /** `408,429,5xx`, or `none`. Success cannot be listed. */
  val option: OptionType[HttpStatuses] = new OptionType[HttpStatuses](
    "statuses",
    "statuses from 300 on with commas between them, as numbers or as 3xx, 4xx and 5xx, or none",
    "404")(
    text =>
      text.trim.toLowerCase(Locale.ROOT) match {
        case NoneWord => Some(none)
        case list =>
          val names = list.split(",", -1).map(_.trim).toSeq
          Option.when(names.forall(_.matches(Name)))(HttpStatuses(names))
      },
    _.toString
  )
}
