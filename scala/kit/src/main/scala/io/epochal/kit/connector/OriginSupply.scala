package io.epochal.kit.connector

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.read.InputPartition

import io.epochal.kit.source.{Extent, Supply}

/** The rows of an origin, with how many there are before each position: counted from where the query began, so that limits and lag
  * are in rows whatever a position is.
  */
final private[connector] class OriginSupply[P](calls: OriginCalls[P], positions: PositionFormat[P], parts: Int)
    extends Supply[CountedPosition[P]] {

  private var last = Option.empty[(CountedPosition[P], Available[P])]
  private var toEnd = false
  @volatile private var seen = Option.empty[(CountedPosition[P], Extent)]

  def first: CountedPosition[P] = CountedPosition(0L, calls("read its first position")(_.first()))

  override def available(start: CountedPosition[P], most: Long): Long = {
    // The end that a run under AvailableNow goes to is searched at its start, whatever a batch may take.
    val found = ask(start, if (toEnd) Long.MaxValue else most)
    saw(start, found)
    last = Some(start -> found)
    toEnd = false
    math.min(found.rows, most)
  }

  /** What lies after a position, for the lag. */
  def saw(start: CountedPosition[P], found: Available[P]): Unit = {
    val until = start.rows + found.rows
    seen = Some(CountedPosition(until, found.end) -> Extent(until, if (found.atEnd) until else Long.MaxValue))
  }

  override def take(start: CountedPosition[P], rows: Long): CountedPosition[P] = {
    val found =
      last.collect { case (from, all) if from == start && all.rows == rows => all }.getOrElse(ask(start, rows))
    CountedPosition(start.rows + found.rows, found.end)
  }

  override def partitions(start: CountedPosition[P], end: CountedPosition[P]): Array[InputPartition] =
    if (start.rows == end.rows) Array.empty
    else
      calls("shared out a batch")(_.split(start.position, end.position, parts)).asScala
        .map(range => ConnectorPartition(positions.toText(range.start), positions.toText(range.end)): InputPartition)
        .toArray

  override def rowsBefore(position: CountedPosition[P]): Long = position.rows

  override def known: Option[Extent] = seen.map(_._2)

  override def latest: Option[CountedPosition[P]] = seen.map(_._1)

  /** An origin may pass what holds no rows. */
  override def paused: Boolean =
    last.exists { case (start, found) => found.rows == 0 && found.end != start.position }

  override def freezeEnd(): Unit = toEnd = true

  override def release(end: CountedPosition[P]): Unit = calls("released rows")(_.release(end.position))

  override def close(): Unit = calls.close()

  private def ask(start: CountedPosition[P], most: Long): Available[P] = {
    val found = calls("searched its end")(_.available(start.position, most))
    if (found.rows < 0 || found.rows > most)
      throw calls.invalid("available", s"asked for $most rows, it gave ${found.rows}")
    if (found.rows > 0 && found.end == start.position)
      throw calls.invalid(
        "available",
        s"${found.rows} rows after ${start.position} end at ${found.end}, where they begin")
    found
  }
}
