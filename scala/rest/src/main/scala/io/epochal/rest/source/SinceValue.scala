package io.epochal.rest.source

import java.time.Instant

/** A value of the field that says when a record has changed. */
sealed private[rest] trait SinceValue {
  import SinceValue.{Moment, Number, Text}

  /** Values of one list are of one class. */
  def <(other: SinceValue): Boolean = (this, other) match {
    case (Moment(one), Moment(two)) => one.isBefore(two)
    case (Number(one), Number(two)) => one < two
    case (Text(one), Text(two))     => one < two
    case _                          => throw new IllegalArgumentException(s"$this and $other cannot be compared")
  }

  /** For the log of positions. */
  def logText: String = this match {
    case Moment(at)    => s"@$at"
    case Number(value) => s"#${value.bigDecimal.toPlainString}"
    case Text(value)   => s"'$value"
  }
}

private[rest] object SinceValue {
  final case class Moment(at: Instant) extends SinceValue
  final case class Number(value: BigDecimal) extends SinceValue
  final case class Text(value: String) extends SinceValue

  def parse(text: String): SinceValue = text.head match {
    case '@' => Moment(Instant.parse(text.drop(1)))
    case '#' => Number(BigDecimal(text.drop(1)))
    case _   => Text(text.drop(1))
  }
}
