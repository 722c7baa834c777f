package io.epochal.kit.connector

import java.io.IOException
import java.lang.{Long => JavaLong}
import java.util
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

import io.epochal.core.option.OptionSpec

/** Feeds of numbers in this JVM, by name. */
object Numbers {
  final class Feed {
    val size = new AtomicLong

    /** The number of calls that fail from now on, with a network failure. */
    val failures = new AtomicInteger
    @volatile var released = 0L
    @volatile var brokenEnd = false

    /** For an origin in partitions. */
    @volatile var parts = 1

    /** Whether the origin divides its rows in the opposite order. */
    @volatile var reversed = false

    /** Whether it gives each part of them twice. */
    @volatile var doubled = false

    /** Rows of each partition that tasks skip when they are planned after the first row. */
    @volatile var skipped = 0

    /** Why tasks' positions cannot be merged. */
    @volatile var unmerged = Option.empty[String]

    /** Why delivered rows cannot be released. */
    @volatile var unreleased = Option.empty[String]
  }

  private val feeds = new ConcurrentHashMap[String, Feed]

  def feed(name: String): Feed = feeds.computeIfAbsent(name, _ => new Feed)

  val Name: OptionSpec[String] = Options.text("feed", "Name of the feed.").asRequired
  val Token: OptionSpec[String] = Options.text("token", "Opens the feed.").asSecret
}

/** The smallest source: numbers from 0 on. */
final class Numbers
    extends SourceConnector[JavaLong]("numbers", "Numbers from 0 on.", util.List.of(Numbers.Name, Numbers.Token)) {
  override def schema(settings: Settings): StructType = StructType.fromDDL("id BIGINT")
  override def identity(settings: Settings): String = settings.get(Numbers.Name)
  override def positions: PositionFormat[JavaLong] = PositionFormat.number()
  override def tails: Boolean = true

  override def check(settings: Settings): Unit =
    if (settings.get(Numbers.Name) == "none") throw settings.invalid(Numbers.Name, "none", "a feed that there is")

  override def open(settings: Settings, schema: StructType): Origin[JavaLong] =
    new NumbersOrigin(Numbers.feed(settings.get(Numbers.Name)), schema)
}

final private class NumbersOrigin(feed: Numbers.Feed, schema: StructType) extends TailOrigin[JavaLong] {
  private def reach(): Unit =
    if (feed.failures.getAndUpdate(n => math.max(0, n - 1)) > 0) throw new IOException("reset")

  override def first(): JavaLong = 0L

  override def available(start: JavaLong, maxRows: Long): Available[JavaLong] = {
    reach()
    val rows = math.min(feed.size.get - start, maxRows)
    val end: JavaLong = if (feed.brokenEnd) 0L else start + rows
    new Available(end, rows, start + rows == feed.size.get)
  }

  override def split(start: JavaLong, end: JavaLong, parts: Int): util.List[PositionRange[JavaLong]] =
    PositionRange.split(start, end, parts)

  override def read(range: PositionRange[JavaLong]): RowReader = {
    reach()
    RowReader.of(
      schema,
      (range.start.longValue until range.end.longValue).iterator.map(id => Array[AnyRef](Long.box(id))).asJava)
  }

  override def release(end: JavaLong): Unit = feed.released = end

  override def metrics(): util.Map[String, String] = util.Map.of("size", feed.size.toString)

  override def tail(start: JavaLong): TailReader[JavaLong] = new TailReader[JavaLong] {
    private var at: Long = start

    override def next(timeoutMillis: Long): Boolean = {
      val until = System.nanoTime() + math.min(timeoutMillis, Int.MaxValue.toLong) * 1000000
      while (at >= feed.size.get && System.nanoTime() < until) Thread.sleep(1)
      val found = at < feed.size.get
      if (found) at += 1
      found
    }
    override def get(): InternalRow = InternalRow(at - 1)
    override def position(): JavaLong = at
  }
}
