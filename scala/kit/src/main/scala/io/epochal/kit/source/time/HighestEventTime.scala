package io.epochal.kit.source.time

import java.lang.{Long => JavaLong}
import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.util.AccumulatorV2

/** The highest event time of the rows that were delivered, in microseconds since 1970. An accumulator: what a task has seen reaches
  * the driver when it ends; what a failed attempt has seen does not.
  */
final private[source] class HighestEventTime extends AccumulatorV2[JavaLong, JavaLong] {
  private val highest = new AtomicLong(EventTimeColumn.Absent)

  /** One thread sees rows, others read. */
  def see(micros: Long): Unit = if (micros > highest.get) highest.setOpaque(micros)

  /** None: no row had one. */
  def known: Option[Long] = Some(highest.get).filter(_ != EventTimeColumn.Absent)

  override def add(micros: JavaLong): Unit = highest.accumulateAndGet(micros, math.max(_, _)): Unit

  override def value: JavaLong = highest.get

  override def merge(other: AccumulatorV2[JavaLong, JavaLong]): Unit = add(other.value)

  override def isZero: Boolean = highest.get == EventTimeColumn.Absent

  override def reset(): Unit = highest.set(EventTimeColumn.Absent)

  override def copy(): HighestEventTime = {
    val same = new HighestEventTime
    same.add(value)
    same
  }
}
