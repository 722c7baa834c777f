package io.epochal.ingest.intake

import java.nio.ByteBuffer
import java.time.Clock
import java.util.ArrayDeque
import java.util.concurrent.CompletableFuture

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.journal.acknowledged.{AcknowledgedJournal, JournalFenced}

/** The intake of one stream: a thread writes what waits into the journal, all of it at once, syncs once, and then hands out the
  * receipts (group commit). While it syncs, more comes to wait: the slower the disk, the larger the groups.
  *
  * @param source
  *   the identity that offsets carry, and `place` the journal's directory: for errors
  */
final private[epochal] class JournalIntake(
    val journal: AcknowledgedJournal,
    settings: IntakeSettings,
    source: String,
    place: String,
    clock: Clock = Clock.systemUTC()
) extends Intake
    with AutoCloseable {
  import IntakeSettings._
  import JournalIntake._

  private val keys = new LiveKeys(settings.dedupWindow)
  private val counts = new IntakeCounts
  private val waiting = new ArrayDeque[Waiting]
  private var waitingBytes = 0L
  private var buffer = ByteBuffer.allocate(64 << 10)
  private var closed = false

  @volatile private var held = false
  @volatile private var dead = false
  @volatile private var delivered = 0L
  @volatile private var failing = Option.empty[EpochalException]

  restore()

  private val writer = new Thread(() => run(), "epochal-intake")
  writer.setDaemon(true)
  writer.start()

  /** Why nothing can be acknowledged any more, at all or for now. */
  def failure: Option[EpochalException] = failing

  /** Why this run acknowledges nothing any more; None while it may. */
  def ended: Option[EpochalException] =
    failing.filter(error => dead || error.condition == Conditions.JournalFenced)

  def counters: IntakeCounts = counts

  /** Nothing is stored until `resume`; what comes waits. */
  def hold(): Unit = synchronized { held = true }

  def resume(): Unit = synchronized {
    held = false
    notifyAll()
  }

  /** Says that rows were delivered: they do not fill the journal any more. */
  def deliveredUntil(row: Long): Unit = delivered = math.max(delivered, row)

  /** Bytes of the journal that wait to be delivered. */
  def backlogBytes: Long = journal.bytesFrom(delivered)

  override def isOpen: Boolean = !held

  override def hasRoom: Boolean = synchronized(!closed && waitingBytes < MaxWaiting) && !isFull

  /** One with a key is put in line also where there is no room for it: the writer knows whether it was stored before. */
  override def accept(arrival: Arrival): CompletableFuture[Receipt] = {
    require(arrival.records > 0, "an arrival without records")
    val encoded = new EncodedArrival(arrival)
    val (one, refused) = synchronized {
      val one = new Waiting(encoded, fits = waitingBytes < MaxWaiting && !isFull)
      val refused =
        if (closed) Some(Receipt.Failed(stopped)) else Option.when(!one.fits && encoded.key.isEmpty)(Full)
      if (refused.isEmpty) {
        waiting.add(one)
        waitingBytes += one.bytes
        notifyAll()
      }
      (one, refused)
    }
    refused.foreach(complete(one, _))
    one.receipt
  }

  /** What waits is not stored any more; what is being written is, and is acknowledged. */
  override def close(): Unit = {
    synchronized {
      closed = true
      notifyAll()
    }
    writer.join()
    journal.close()
  }

  private def isFull: Boolean = backlogBytes >= settings.maxJournalBytes || keys.size >= settings.maxKeys

  private def run(): Unit =
    try {
      var group = take()
      while (group.nonEmpty) {
        store(group)
        group = take()
      }
    } finally {
      val left = synchronized {
        closed = true
        Iterator.continually(waiting.poll()).takeWhile(_ != null).toVector
      }
      left.foreach(complete(_, Receipt.Failed(stopped)))
    }

  /** What is written next; nothing: it is closed. */
  private def take(): Vector[Waiting] = synchronized {
    while (!closed && (held || waiting.isEmpty)) {
      // Where keys fill the memory nothing may come any more, so that time alone makes room.
      val crowded = keys.size >= settings.maxKeys
      if (crowded) keys.expire(clock.millis() * 1000L)
      wait(if (crowded) ExpiryMillis else 0L)
    }
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

  /** Each gets its receipt, whatever happens. What ends the thread ends the run: see `ended`. */
  private def store(group: Vector[Waiting]): Unit =
    try decide(group)
    catch {
      case e: Throwable =>
        dead = !NonFatal(e)
        val failure = Receipt.Failed(failed(e))
        group.filterNot(_.receipt.isDone).foreach(complete(_, failure))
        if (dead) throw e
    }

  /** Those with a key that is known, or comes twice in the group, are not stored again. */
  private def decide(group: Vector[Waiting]): Unit = {
    val now = clock.millis() * 1000L
    keys.expire(now)
    val (known, others) = group.partition(_.encoded.key.exists(keys.knows(_, now)))
    known.foreach(complete(_, Receipt.Duplicate))
    val seen = scala.collection.mutable.HashSet.empty[KeyDigest]
    val (fresh, left) = others.partition(one => one.fits && one.encoded.key.forall(seen.add))
    val (twins, unfit) = left.partition(_.encoded.key.exists(seen))
    unfit.foreach(complete(_, Full))
    if (fresh.nonEmpty) write(fresh, now)
    fresh.foreach(one => complete(one, Receipt.Stored(one.encoded.records)))
    twins.foreach(complete(_, Receipt.Duplicate))
  }

  private def write(group: Vector[Waiting], now: Long): Unit = {
    val length = Math.toIntExact(group.map(_.bytes).sum)
    if (buffer.capacity < length)
      buffer = ByteBuffer.allocate(math.max(length, math.min(2 * buffer.capacity, MaxGroup)))
    buffer.clear()
    group.foreach(_.encoded.write(buffer))
    journal.append(group.map(_.encoded.records).sum, buffer.array, 0, length)(keys.toBytes): Unit
    group.foreach(_.encoded.key.foreach(keys.add(_, now)))
    if (buffer.capacity > MaxGroup) buffer = ByteBuffer.allocate(MaxGroup)
    failing = None
  }

  private def complete(one: Waiting, receipt: Receipt): Unit = {
    counts.count(receipt)
    one.receipt.complete(receipt): Unit
  }

  private def failed(error: Throwable): EpochalException = {
    val named = JournalIntake.named(error, source, place)
    if (failing.isEmpty) log.warn(s"Nothing is acknowledged: ${named.problem}")
    failing = Some(named)
    named
  }

  private def stopped: EpochalException = Conditions.IntakeStopped("source" -> source)

  private def restore(): Unit = {
    val now = clock.millis() * 1000L
    journal.restore(keys.addAll(_)) { (payload, length) =>
      ArrivalFormat.all(payload, length).foreach(arrival => arrival.key.foreach(keys.add(_, arrival.receivedAt)))
    }
    keys.expire(now)
  }
}

private[ingest] object JournalIntake {
  private val log = LoggerFactory.getLogger(classOf[JournalIntake])

  /** What has failed, where a journal could not be taken over or written. */
  def named(error: Throwable, source: String, place: String): EpochalException = error match {
    case _: JournalFenced => Conditions.JournalFenced.because(error)("source" -> source, "path" -> place)
    case _ =>
      val reason = Option(error.getMessage).getOrElse(error.getClass.getSimpleName)
      Conditions.JournalUnwritable.because(error)("source" -> source, "path" -> place, "reason" -> reason)
  }

  /** How often keys are looked through while there is no room for more. */
  private val ExpiryMillis = 1000L

  /** When a client may try again: by then a batch was delivered, or not. */
  private val RetrySeconds = 1

  private val Full = Receipt.Full(RetrySeconds)

  /** @param fits
    *   whether there was room for it; if not, only its key is looked up
    */
  final private class Waiting(val encoded: EncodedArrival, val fits: Boolean) {
    val receipt = new CompletableFuture[Receipt]

    /** That it takes of what may wait. */
    def bytes: Long = if (fits) encoded.length.toLong else 0L
  }
}
