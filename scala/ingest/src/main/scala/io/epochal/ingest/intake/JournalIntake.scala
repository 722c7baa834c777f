package io.epochal.ingest.intake

import java.nio.ByteBuffer
import java.time.{Clock, Instant, ZoneId, ZoneOffset}
import java.util.ArrayDeque
import java.util.concurrent.CompletableFuture
import java.util.concurrent.atomic.LongAdder

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.journal.acknowledged.AcknowledgedJournal
import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.source.journal.JournalFaults

/** Intake of one stream, with group commit: a thread writes all waiting arrivals to the journal, syncs once, then completes their
  * receipts. New arrivals wait meanwhile, so a slower disk makes larger groups.
  *
  * @param clock
  *   measures how long keys are remembered
  * @param wall
  *   the time of day, in which the journal keeps them: the other clock may stand still while the machine sleeps
  */
final private[epochal] class JournalIntake(
    val journal: AcknowledgedJournal,
    settings: IntakeSettings,
    faults: JournalFaults,
    clock: Clock = new SteadyClock,
    wall: Clock = Clock.systemUTC()
) extends Intake
    with AutoCloseable {
  import JournalIntake._

  private val keys = new LiveKeys(settings.dedupWindow)
  private val storedRecords, duplicates, full, refusals = new LongAdder
  private val waiting = new ArrayDeque[Waiting]
  private var waitingBytes = 0L
  private var buffer = ByteBuffer.allocate(64 << 10)
  private var closed = false
  // Duration of the last append.
  private var appendNanos = 0L

  @volatile private var isHeld = false
  @volatile private var dead = false
  @volatile private var deliveryEnd = 0L
  @volatile private var currentError = Option.empty[EpochalException]

  restore()

  private val writer = new DaemonThreads("epochal-intake").newThread(() => storeAll())
  writer.start()

  /** The error, temporary or final, that currently prevents acknowledgements. */
  def failure: Option[EpochalException] = currentError

  /** The final error: this run acknowledges nothing more. None while it may. */
  def finalError: Option[EpochalException] =
    currentError.filter(error => dead || error.condition == Conditions.JournalFenced)

  /** For the query's progress: records acknowledged since the start of the run, and arrivals that were not stored. */
  def metrics: Map[String, String] = Map(
    "acknowledged" -> storedRecords.sum.toString,
    "duplicates" -> duplicates.sum.toString,
    "refusedFull" -> full.sum.toString,
    "refusedFailed" -> refusals.sum.toString
  )

  override def run: String = journal.run

  override def gauges: Seq[(String, String, Long)] = Seq(
    ("epochal_ingest_journal_bytes", "Bytes of the journal.", journal.bytes),
    ("epochal_ingest_backlog_bytes", "Bytes of the journal that wait to be delivered.", backlogBytes),
    ("epochal_ingest_journal_rows", "Rows written to the journal, including those of earlier runs.", journal.until)
  )

  /** Makes arrivals wait until `resume`. */
  def hold(): Unit = synchronized { isHeld = true }

  def resume(): Unit = synchronized {
    isHeld = false
    notifyAll()
  }

  /** Marks rows before `row` as delivered: they no longer count against `maxJournalBytes`. */
  def deliveredUntil(row: Long): Unit = deliveryEnd = math.max(deliveryEnd, row)

  /** Journal bytes that are not yet delivered. */
  def backlogBytes: Long = journal.bytesFrom(deliveryEnd)

  override def hasRoom: Boolean = synchronized(!closed && waitingBytes < MaxWaiting) && !isFull

  /** An arrival with a key is queued even if there is no room: only the writer knows whether it is a duplicate. */
  override def accept(arrival: Arrival): CompletableFuture[Receipt] = {
    require(arrival.records > 0, "an arrival without records")
    val encodedArrival = new EncodedArrival(arrival)
    val (one, refusal) = synchronized {
      val one = new Waiting(encodedArrival, fits = waitingBytes < MaxWaiting && !isFull)
      val refusal =
        if (closed) Some(Receipt.Failed(stopError)) else Option.when(!one.fits && encodedArrival.key.isEmpty)(Full)
      if (refusal.isEmpty) {
        waiting.add(one)
        waitingBytes += one.bytes
        notifyAll()
      }
      (one, refusal)
    }
    refusal.foreach(complete(one, _))
    one.receipt
  }

  /** Finishes the group that is being written; waiting arrivals fail. */
  override def close(): Unit = {
    synchronized {
      closed = true
      notifyAll()
    }
    writer.join()
    journal.close()
  }

  private def isFull: Boolean = backlogBytes >= settings.maxJournalBytes || keys.size >= settings.maxKeys

  private def storeAll(): Unit =
    try {
      var group = nextGroup()
      while (group.nonEmpty) {
        store(group)
        group = nextGroup()
      }
    } catch {
      case e: Throwable =>
        dead = true
        fail(e): Unit
        throw e
    } finally {
      val left = synchronized {
        closed = true
        Iterator.continually(waiting.poll()).takeWhile(_ != null).toVector
      }
      left.foreach(complete(_, Receipt.Failed(stopError)))
    }

  /** The next group; empty once the intake is closed. */
  private def nextGroup(): Vector[Waiting] = synchronized {
    while (!closed && (isHeld || waiting.isEmpty)) {
      // With all keys in use no arrival is accepted: room appears only as keys expire.
      val crowded = keys.size >= settings.maxKeys
      if (crowded) keys.expire(clock.millis() * 1000L)
      wait(if (crowded) ExpiryMillis else 0L)
    }
    gather()
    val group = Vector.newBuilder[Waiting]
    var bytes = 0L
    while (!closed && !waiting.isEmpty && (bytes == 0 || bytes + waiting.peek().bytes <= MaxGroup)) {
      val one = waiting.poll()
      bytes += one.bytes
      group += one
    }
    waitingBytes -= bytes
    group.result()
  }

  /** If the store is slow, waits for clients that were just acknowledged to join the group: else they would wait for two groups. */
  private def gather(): Unit = {
    val end = System.nanoTime() + math.min(LongestGather, appendNanos / GatherShare)
    var left = end - System.nanoTime()
    while (!closed && left >= ShortestGather && waitingBytes < MaxGroup) {
      wait(left / 1000000L, (left % 1000000L).toInt)
      left = end - System.nanoTime()
    }
  }

  /** Completes every receipt, also after an error. An error that ends the thread ends the run: see `finalError`. */
  private def store(group: Vector[Waiting]): Unit =
    try decide(group)
    catch {
      case e: Throwable =>
        dead = !NonFatal(e)
        val failure = Receipt.Failed(fail(e))
        group.filterNot(_.receipt.isDone).foreach(complete(_, failure))
        if (dead) throw e
    }

  /** Skips arrivals whose key was stored before or occurs earlier in the group. */
  private def decide(group: Vector[Waiting]): Unit = {
    val now = clock.millis() * 1000L
    keys.expire(now)
    val (storedBefore, others) = group.partition(_.arrival.key.exists(keys.knows(_, now)))
    storedBefore.foreach(complete(_, Receipt.Duplicate))
    val keysInGroup = scala.collection.mutable.HashSet.empty[KeyDigest]
    val (fresh, left) = others.partition(one => one.fits && one.arrival.key.forall(keysInGroup.add))
    val (repeats, unfit) = left.partition(_.arrival.key.exists(keysInGroup))
    unfit.foreach(complete(_, Full))
    if (fresh.nonEmpty) write(fresh, now)
    fresh.foreach(one => complete(one, Receipt.Stored(one.arrival.records)))
    repeats.foreach(complete(_, Receipt.Duplicate))
  }

  private def write(group: Vector[Waiting], now: Long): Unit = {
    val length = Math.toIntExact(group.map(_.bytes).sum)
    if (buffer.capacity < length)
      buffer = ByteBuffer.allocate(math.max(length, math.min(2 * buffer.capacity, MaxGroup)))
    buffer.clear()
    group.foreach(_.arrival.write(buffer))
    val begin = System.nanoTime()
    journal.append(group.map(_.arrival.records).sum, buffer.array, 0, length) {
      keys.toBytes(ahead = wall.millis() * 1000L - now)
    }: Unit
    appendNanos = System.nanoTime() - begin
    group.foreach(_.arrival.key.foreach(keys.add(_, now)))
    if (buffer.capacity > MaxGroup) buffer = ByteBuffer.allocate(MaxGroup)
    currentError = None
  }

  private def complete(one: Waiting, receipt: Receipt): Unit = {
    receipt match {
      case Receipt.Stored(records) => storedRecords.add(records.toLong)
      case Receipt.Duplicate       => duplicates.increment()
      case Receipt.Full(_)         => full.increment()
      case Receipt.Failed(_)       => refusals.increment()
    }
    one.receipt.complete(receipt): Unit
  }

  private def fail(error: Throwable): EpochalException = {
    val condition = faults.named.applyOrElse(error, faults.unwritable)
    if (currentError.isEmpty) log.warn(s"Nothing is acknowledged: ${condition.problem}")
    currentError = Some(condition)
    condition
  }

  private def stopError: EpochalException = Conditions.IntakeStopped("source" -> faults.source)

  private def restore(): Unit = {
    val now = clock.millis() * 1000L
    journal.restore(keys.addAll(_, now)) { (payload, length) =>
      ArrivalFormat
        .all(payload, length)
        .foreach(arrival => arrival.key.foreach(keys.restore(_, arrival.receivedAt, now)))
    }
    keys.addAhead(now)
    keys.expire(now)
  }
}

private[ingest] object JournalIntake {
  private val log = LoggerFactory.getLogger(classOf[JournalIntake])

  /** Maximum bytes that wait for the writer, so that a slow disk does not exhaust the memory. */
  private val MaxWaiting = 64L << 20

  /** Maximum bytes of one group, unless a single arrival is larger. */
  private val MaxGroup = 4 << 20

  /** Time in which a group gathers: a small share of an append. In nanoseconds. */
  private val GatherShare = 10
  private val LongestGather = 5000000L
  private val ShortestGather = 1000000L

  /** Milliseconds between expiry checks while there is no room for keys. */
  private val ExpiryMillis = 1000L

  /** `Retry-After` of a full journal. */
  private val RetrySeconds = 1

  private val Full = Receipt.Full(RetrySeconds)

  /** @param fits
    *   whether there was room; if not, only its key is checked
    */
  final private class Waiting(val arrival: EncodedArrival, val fits: Boolean) {
    val receipt = new CompletableFuture[Receipt]

    /** Bytes that count against `MaxWaiting`. */
    def bytes: Long = if (fits) arrival.length.toLong else 0L
  }
}

/** The time of day when it was created, and from then on the time that has passed since: nobody sets it.
  *
  * @param nanos
  *   the time that passes
  */
final private[ingest] class SteadyClock(begin: Instant = Instant.now(), nanos: () => Long = () => System.nanoTime())
    extends Clock {
  private val first = nanos()

  override def instant(): Instant = begin.plusNanos(nanos() - first)
  override def getZone: ZoneId = ZoneOffset.UTC
  override def withZone(zone: ZoneId): Clock = this
}
