package io.epochal.core.ledger

/** How the engine delivers epochs. */
sealed abstract class TriggerMode(val name: String)

object TriggerMode {
  case object MicroBatch extends TriggerMode("micro-batch")
  case object Continuous extends TriggerMode("continuous")
  case object RealTime extends TriggerMode("real-time")

  val all: Seq[TriggerMode] = Seq(MicroBatch, Continuous, RealTime)

  def parse(name: String): Option[TriggerMode] = all.find(_.name == name)
}
