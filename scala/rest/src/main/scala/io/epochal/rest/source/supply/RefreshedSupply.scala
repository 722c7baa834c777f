package io.epochal.rest.source.supply

import java.time.{Clock, Duration, Instant}

import org.apache.spark.sql.connector.read.InputPartition

import io.epochal.kit.source.{Extent, Supply}
import io.epochal.rest.source.paging.RestPosition

/** Polls for new records no sooner than `interval` after the poll that found the end. Until then there is what is known. */
final private[rest] class RefreshedSupply(val supply: Supply[RestPosition], interval: Duration, clock: Clock)
    extends Supply[RestPosition] {

  /** When the poll was made that found the end; None while the end is not known. */
  private var endSeen = Option.empty[Instant]

  override def available(start: RestPosition, most: Long): Long = {
    val now = clock.instant()
    val toEnd = known.filter(_.exact).map(extent => math.max(0L, extent.exists - start.records))
    val resting = endSeen.exists(seen => now.isBefore(seen.plus(interval)))
    val found = supply.available(start, toEnd.filter(_ => resting).fold(most)(math.min(most, _)))
    // An end that is known and was not seen by a poll here was seen ahead, while a batch ran.
    if (!resting && (toEnd.forall(_ < most) || endSeen.isEmpty)) endSeen = Option.when(known.exists(_.exact))(now)
    found
  }

  override def take(start: RestPosition, records: Long): RestPosition = supply.take(start, records)

  override def known: Option[Extent] = supply.known

  override def latest: Option[RestPosition] = supply.latest
  override def rowsBefore(position: RestPosition): Long = supply.rowsBefore(position)
  override def paused: Boolean = supply.paused

  override def partitions(start: RestPosition, end: RestPosition): Array[InputPartition] =
    supply.partitions(start, end)

  override def release(end: RestPosition): Unit = supply.release(end)

  override def freezeEnd(): Unit = supply.freezeEnd()

  override def close(): Unit = supply.close()
}
