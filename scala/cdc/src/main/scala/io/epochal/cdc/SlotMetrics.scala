package io.epochal.cdc

import java.lang.Long.compareUnsigned

import io.epochal.cdc.slot.SlotFacts

/** Metrics of a slot; NaN: unknown.
  *
  * @param slot
  *   its last facts
  * @param age
  *   seconds since they were read
  * @param receivedLsn
  *   the log position up to which changes were received
  * @param isIdle
  *   whether nothing waits to be read
  * @param committedAt
  *   when the last transaction was committed, in microseconds since 1970; None: there is none
  * @param waitingSince
  *   the same of the oldest change that no epoch has stored yet; None within: not known
  */
final private[cdc] case class SlotMetrics(
    slot: Option[SlotFacts],
    age: Double,
    receivedLsn: Long,
    isIdle: Boolean,
    committedAt: Option[Long],
    waitingSince: Option[Option[Long]]) {

  /** Whether all changes that were committed when the facts were read have been received. */
  def isAtEnd: Boolean = isIdle && slot.flatMap(_.end).exists(compareUnsigned(receivedLsn, _) >= 0)

  /** The time before which all committed changes are stored, in microseconds since 1970; None: not known. */
  def storedUntil: Option[Long] =
    waitingSince.getOrElse(if (isAtEnd) slot.flatMap(_.loggedUntil) else committedAt)

  private def lag: Option[Double] = for (facts <- slot; _ <- facts.end; commitTime <- committedAt)
    yield if (isAtEnd) 0.0 else secondsSince(facts, commitTime)

  private def replicaLag: Option[Double] =
    waitingSince.fold(lag)(time => for (facts <- slot; commitTime <- time) yield secondsSince(facts, commitTime))

  private def secondsSince(facts: SlotFacts, commitTime: Long): Double =
    math.max(0.0, (facts.now - commitTime) / 1e6 + age)

  def metrics: Map[String, String] = {
    def seconds(of: Option[Double]) = SnapshotProgress.inTenths(of.getOrElse(Double.NaN))
    def bytes(of: SlotFacts => Option[Long]) = slot.flatMap(of).fold("NaN")(_.toString)
    Map(
      "retainedWalBytes" -> bytes(_.retained),
      "safeWalBytes" -> bytes(_.safe),
      "slotLagBytes" -> bytes(_.end.map(end => math.max(0L, end - receivedLsn))),
      "slotLagSeconds" -> seconds(lag),
      "replicaLagSeconds" -> seconds(replicaLag)
    ) ++ slot.map("walStatus" -> _.status)
  }
}
