package io.epochal.core.option

import java.time.Duration
import java.util.Locale

import scala.util.Try

/** Times and sizes as people write them. */
private[option] object Quantity {

  private val Amount = """\s*(\d+)\s*([a-zA-Z]*)\s*""".r

  def duration(text: String): Option[Duration] = text match {
    case Amount(number, unit) =>
      val length: Option[Long => Duration] = unit.toLowerCase(Locale.ROOT) match {
        case "ms" | "millisecond" | "milliseconds" => Some(Duration.ofMillis)
        case "s" | "sec" | "second" | "seconds"    => Some(Duration.ofSeconds)
        case "m" | "min" | "minute" | "minutes"    => Some(Duration.ofMinutes)
        case "h" | "hour" | "hours"                => Some(Duration.ofHours)
        case "d" | "day" | "days"                  => Some(Duration.ofDays)
        case _                                     => None
      }
      for {
        of <- length
        n <- number.toLongOption
        value <- Try(of(n)).toOption
      } yield value
    case _ => None
  }

  def render(value: Duration): String = {
    val millis = value.toMillis
    if (millis % 3600000 == 0 && millis > 0) s"${millis / 3600000}h"
    else if (millis % 60000 == 0 && millis > 0) s"${millis / 60000}m"
    else if (millis % 1000 == 0) s"${millis / 1000}s"
    else s"${millis}ms"
  }

  def bytes(text: String): Option[Long] = text match {
    case Amount(number, unit) =>
      val factor = unit.toLowerCase(Locale.ROOT) match {
        case "" | "b"           => Some(1L)
        case "k" | "kb" | "kib" => Some(1L << 10)
        case "m" | "mb" | "mib" => Some(1L << 20)
        case "g" | "gb" | "gib" => Some(1L << 30)
        case _                  => None
      }
      for {
        f <- factor
        n <- number.toLongOption
        value <- Try(Math.multiplyExact(n, f)).toOption
        if value > 0
      } yield value
    case _ => None
  }

  def renderBytes(value: Long): String =
    if (value % (1L << 30) == 0) s"${value >> 30}g"
    else if (value % (1L << 20) == 0) s"${value >> 20}m"
    else if (value % (1L << 10) == 0) s"${value >> 10}k"
    else value.toString
}
