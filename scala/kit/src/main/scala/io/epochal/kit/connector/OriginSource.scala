package io.epochal.kit.connector

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.apache.spark.sql.connector.read.streaming.PartitionOffset
import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReaderFactory}

import io.epochal.kit.source.{ContinuousSource, EndlessReaderFactory, Extent, InitialOffset, Supply}

/** A batch read: the rows that the origin has when the batch is planned. */
final private[connector] class OriginBatch[P](connector: SourceConnector[P], read: ConnectorRead) extends Batch {

  override def planInputPartitions(): Array[InputPartition] =
    Using.resource(OriginCalls.open(connector, read.settings, read.schema)) { calls =>
      val supply = new OriginSupply(calls, connector.positions, read.parts)
      val first = supply.first
      var end = first
      var atEnd = false
      while (!atEnd) {
        val rows = supply.available(end, Long.MaxValue)
        atEnd = supply.known.exists(_.exact) || rows == 0 && !supply.paused
        end = supply.take(end, rows)
      }
      supply.partitions(first, end)
    }

  override def createReaderFactory(): PartitionReaderFactory = OriginReaderFactory(read.inTask(connector))
}

/** The driver's part of a [[SourceConnector]]. */
private[connector] class OriginSource[P](connector: SourceConnector[P], read: ConnectorRead)
    extends ConnectorSource[P](connector, read.settings) {

  final protected val calls: OriginCalls[P] = OriginCalls.open(connector, read.settings, read.schema)
  override val supply: OriginSupply[P] = new OriginSupply(calls, connector.positions, read.parts)
  override def first: ConnectorPosition[P] = supply.first
  override def readerFactory: PartitionReaderFactory = OriginReaderFactory(read.inTask(connector))
  override def metrics(rowsBehind: Option[Long]): Map[String, String] = calls.metrics
}

/** A connector's source for continuous and real-time queries. */
final private[connector] class TailSource[P](
    connector: SourceConnector[P],
    read: ConnectorRead,
    checkpoint: InitialOffset)
    extends OriginSource[P](connector, read)
    with ContinuousSource[ConnectorPosition[P]] {

  private val positions = connector.positions
  private val plans = new TailPlans(checkpoint.beside("tails"))

  /** The new order of the tails, until `keepPartitions` stores it. */
  private var plan = Option.empty[TailPlan]

  private var divided = false

  override def regrouped: Boolean = divided

  /** Tails in the order of the tasks that they continue, whatever the order in which the origin gives them. */
  override def endlessPartitions(start: ConnectorPosition[P]): Array[InputPartition] = {
    val newTails = tails(start.position)
    val from = toJson(start)
    // A sink notices another number of tasks itself.
    val known = if (newTails.size == 1) Nil else plans.after(from).getOrElse(start.tails.map(positions.toText))
    val same = known.toSet == newTails.toSet
    val order = if (same) known else newTails
    divided = known.nonEmpty && !same
    plan = Option.when(newTails.size > 1 && !same)(TailPlan(from, newTails))
    order.zipWithIndex.map { case (at, index) => TailPartition(index, start.rows, at): InputPartition }.toArray
  }

  override def keepPartitions(): Unit = {
    plan.foreach(plans.keep)
    plan = None
    divided = false
  }

  private def tails(start: P): Seq[String] = {
    val texts =
      calls("planned its tasks")(_ => calls.tail.tails(start, read.parts)).asScala.map(positions.toText).toSeq
    if (texts.isEmpty)
      throw calls.invalid("tails", s"tails($start) is empty, so that no task would follow the origin")
    texts
      .diff(texts.distinct)
      .headOption
      .foreach(twice =>
        throw calls.invalid("tails", s"tails($start) has $twice twice, so that two tasks would deliver the same rows"))
    texts
  }

  override def endlessReaders: EndlessReaderFactory = TailReaders(read.inTask(connector))

  override def needsReconfiguration: Boolean =
    quietly("said whether its tasks are as they were")(_.tailsChanged()).getOrElse(false)

  override def lookAhead(end: ConnectorPosition[P]): Unit =
    quietly("looked ahead")(_.lookAhead(end.position)).flatMap(_.toScala).foreach(supply.observe(end, _))

  /** Spark's call must not fail: failures are logged. */
  private def quietly[A](step: String)(body: TailOrigin[P] => A): Option[A] =
    try Some(calls.once(step)(body(calls.tail)))
    catch {
      case NonFatal(error) =>
        AuthorCalls.log.warn("{}", error.getMessage)
        None
    }

  override def merge(offsets: Seq[PartitionOffset]): ConnectorPosition[P] = {
    val ends = offsets.collect { case end: TailOffset => end }.sortBy(_.from.index)
    val mergedPosition =
      calls("merged offsets")(_ => calls.tail.merge(ends.map(end => positions.fromText(end.position)).asJava))
    val tails = if (ends.size > 1) ends.map(end => positions.fromText(end.position)) else Nil
    ConnectorPosition(ends.head.from.rows + ends.map(_.count).sum, mergedPosition, tails = tails)
  }
}

/** The rows of an origin, with the number of rows before each position, counted from where the query began: limits and lag are
  * in rows for any type of position.
  */
final private[connector] class OriginSupply[P](calls: OriginCalls[P], positions: PositionFormat[P], parts: Int)
    extends Supply[ConnectorPosition[P]] {

  private var last = Option.empty[(ConnectorPosition[P], Available[P])]
  private var toEnd = false
  @volatile private var lastEnd = Option.empty[(ConnectorPosition[P], Extent)]

  def first: ConnectorPosition[P] = ConnectorPosition(0L, calls("read its first position")(_.first()))

  override def available(start: ConnectorPosition[P], most: Long): Long = {
    // AvailableNow finds its end when the run starts, regardless of the limits of a batch.
    val answer = ask(start, if (toEnd) Long.MaxValue else most)
    observe(start, answer)
    last = Some(start -> answer)
    toEnd = false
    math.min(answer.rows, most)
  }

  /** Records the rows after a position, for the lag. */
  def observe(start: ConnectorPosition[P], answer: Available[P]): Unit = {
    val until = start.rows + answer.rows
    lastEnd = Some(ConnectorPosition(until, answer.end) -> Extent(until, if (answer.atEnd) until else Long.MaxValue))
  }

  override def take(start: ConnectorPosition[P], rows: Long): ConnectorPosition[P] = {
    val answer =
      last.collect { case (from, all) if from == start && all.rows == rows => all }.getOrElse(ask(start, rows))
    ConnectorPosition(start.rows + answer.rows, answer.end)
  }

  override def partitions(start: ConnectorPosition[P], end: ConnectorPosition[P]): Array[InputPartition] =
    if (start.rows == end.rows) Array.empty
    else
      calls("shared out a batch")(_.split(start.position, end.position, parts)).asScala
        .map(range => OriginPartition(positions.toText(range.start), positions.toText(range.end)): InputPartition)
        .toArray

  override def rowsBefore(position: ConnectorPosition[P]): Long = position.rows

  override def known: Option[Extent] = lastEnd.map(_._2)

  override def latest: Option[ConnectorPosition[P]] = lastEnd.map(_._1)

  /** An origin may skip positions that hold no rows. */
  override def paused: Boolean =
    last.exists { case (start, answer) => answer.rows == 0 && answer.end != start.position }

  override def freezeEnd(): Unit = toEnd = true

  override def release(end: ConnectorPosition[P]): Unit = calls("released rows")(_.release(end.position))

  override def close(): Unit = calls.close()

  private def ask(start: ConnectorPosition[P], most: Long): Available[P] = {
    val answer = calls("searched its end")(_.available(start.position, most))
    if (answer.rows < 0 || answer.rows > most)
      throw calls.invalid("available", s"asked for $most rows, it gave ${answer.rows}")
    if (answer.rows > 0 && answer.end == start.position)
      throw calls.invalid(
        "available",
        s"${answer.rows} rows after ${start.position} end at ${answer.end}, where they begin")
    answer
  }
}
