package io.epochal.kit.connector

import java.lang.{Long => JavaLong}
import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

import io.epochal.core.option.OptionSpec

/** An origin of lanes, each with the numbers from 0 on; lanes are added while a query runs. A position holds how many numbers
  * of each lane were delivered.
  */
final class Lanes
    extends SourceConnector[util.SortedMap[String, JavaLong]]("lanes", "Numbers in lanes.", Lanes.options) {
  override def schema(settings: Settings): StructType = StructType.fromDDL("lane STRING, id BIGINT")
  override def identity(settings: Settings): String = settings.get(Numbers.Name)
  override def positions: PositionFormat[util.SortedMap[String, JavaLong]] = PositionFormat.numbers()
  override def tails: Boolean = true

  override def open(settings: Settings, schema: StructType): Origin[util.SortedMap[String, JavaLong]] =
    new LanesOrigin(Numbers.feed(settings.get(Numbers.Name)))
}

object Lanes {
  type Position = util.SortedMap[String, JavaLong]
  private val options: util.List[OptionSpec[_]] = util.List.of(Numbers.Name)

  def at(counts: (String, Long)*): Position =
    new util.TreeMap[String, JavaLong](counts.map { case (lane, n) => lane -> Long.box(n) }.toMap.asJava)
}

/** The feed's `size` is that of each lane, `parts` the number of lanes. */
final private class LanesOrigin(feed: Numbers.Feed) extends TailOrigin[Lanes.Position] {
  private def lanes: Seq[String] = (0 until feed.parts).map(n => s"lane $n")
  @volatile private var planned = 0

  override def first(): Lanes.Position = Lanes.at()

  private def end: Lanes.Position = Lanes.at(lanes.map(_ -> feed.size.get): _*)

  override def available(start: Lanes.Position, maxRows: Long): Available[Lanes.Position] = {
    val rows = lanes.map(lane => feed.size.get - start.getOrDefault(lane, 0L)).sum
    if (maxRows < rows) throw new UnsupportedOperationException("a part of what is there")
    new Available(end, rows, true)
  }

  override def read(range: PositionRange[Lanes.Position]): RowReader = throw new UnsupportedOperationException("read")

  override def tails(start: Lanes.Position, parts: Int): util.List[Lanes.Position] = {
    planned = feed.parts
    val all = lanes.map { lane =>
      val at = start.getOrDefault(lane, 0L).longValue
      Lanes.at(lane -> (if (at > 0) at + feed.skipped else at))
    }
    val ordered = if (feed.reversed) all.reverse else all
    (if (feed.doubled) ordered ++ ordered else ordered).asJava
  }

  override def release(end: Lanes.Position): Unit =
    feed.unreleased.foreach(reason => throw new IllegalStateException(reason))

  override def tailsChanged(): Boolean = planned > 0 && planned != feed.parts

  override def lookAhead(at: Lanes.Position): util.Optional[Available[Lanes.Position]] =
    util.Optional.of(available(at, Long.MaxValue))

  override def merge(ends: util.List[Lanes.Position]): Lanes.Position = {
    feed.unmerged.foreach(reason => throw new IllegalStateException(reason))
    val all = Lanes.at()
    ends.forEach(all.putAll(_))
    all
  }

  override def tail(start: Lanes.Position): TailReader[Lanes.Position] = new TailReader[Lanes.Position] {
    private val lane = start.firstKey
    private var at = start.get(lane).longValue

    override def next(timeoutMillis: Long): Boolean = {
      val begin = System.nanoTime()
      while (at >= feed.size.get && (System.nanoTime() - begin) / 1000000 < timeoutMillis) Thread.sleep(1)
      val found = at < feed.size.get
      if (found) at += 1
      found
    }
    override def get(): InternalRow =
      InternalRow(org.apache.spark.unsafe.types.UTF8String.fromString(lane), at - 1)
    override def position(): Lanes.Position = Lanes.at(lane -> at)
  }
}
