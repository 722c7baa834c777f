package io.epochal.jdbc.option

/** Values of the option `transport`. */
sealed abstract class TransportChoice(val name: String)

object TransportChoice {
  case object Auto extends TransportChoice("auto")
  case object Inline extends TransportChoice("inline")
  case object Staged extends TransportChoice("staged")
  case object Prepared extends TransportChoice("prepared")

  val all: Seq[TransportChoice] = Seq(Auto, Inline, Staged, Prepared)
}
