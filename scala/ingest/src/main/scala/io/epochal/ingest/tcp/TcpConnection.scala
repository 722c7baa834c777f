package io.epochal.ingest.tcp

import java.nio.ByteBuffer
import java.nio.channels.{SelectionKey, SocketChannel}
import java.nio.charset.StandardCharsets.{US_ASCII, UTF_8}
import java.security.MessageDigest
import java.util.concurrent.atomic.LongAdder

import io.epochal.core.error.Conditions
import io.epochal.ingest.intake.{Arrival, Receipt}

/** Connection of one client. Used only by the listener's thread.
  *
  * At most one arrival is in flight; lines received meanwhile form the next one. So lines are stored in order, even if the journal
  * fails temporarily and an arrival is retried.
  *
  * @param unauthorizedCount
  *   counts clients whose first line is not the token
  * @param run
  *   which acknowledgements name
  */
final private[tcp] class TcpConnection(
    val channel: SocketChannel,
    key: SelectionKey,
    settings: TcpSettings,
    val remote: String,
    token: Option[Array[Byte]],
    unauthorizedCount: LongAdder,
    run: String
) {
  import TcpConnection._

  private val suffix = if (settings.namesRun) s" $run" else ""
  private val buffer = new LineBuffer(settings.maxLineBytes, settings.blanks)
  private var inFlight = Option.empty[(Arrival, Int)]
  private var offeredAgainAt = Long.MaxValue
  private var failures = 0
  private var okLines = 0L
  private var sentLines = 0L
  private val openedAt = System.nanoTime()
  private var lastRead = openedAt
  private var ended = false
  private var errorLine = Option.empty[String]
  private var output = ByteBuffer.allocate(0)
  private var greeting = token.map(_ => new Array[Byte](0))
  private var known = token.isEmpty

  /** Handles received bytes.
    *
    * @param count
    *   -1: end of input
    */
  def receive(block: Array[Byte], count: Int): Unit = {
    lastRead = System.nanoTime()
    if (count < 0) {
      ended = true
      if (greeting.isEmpty) buffer.finish()
    } else {
      val from = greet(block, count)
      buffer.add(block, from, count)
    }
  }

  /** The next arrival to store; None if there are no lines or an arrival is in flight. */
  def next(): Option[Arrival] =
    if (inFlight.nonEmpty || buffer.lines == 0) None
    else {
      val lines = buffer.drain()
      if (lines.ends.isEmpty) {
        okLines += lines.count.toLong
        None
      } else {
        val arrival = lines.arrival(remote)
        inFlight = Some(arrival -> lines.count)
        Some(arrival)
      }
    }

  /** The arrival that was not stored, if its retry is due. */
  def retry(nanos: Long): Option[Arrival] =
    if (nanos < offeredAgainAt) None
    else {
      offeredAgainAt = Long.MaxValue
      inFlight.map(_._1)
    }

  /** Handles the receipt of the arrival in flight. */
  def onReceipt(receipt: Receipt, nanos: Long): Unit = receipt match {
    case Receipt.Stored(_) | Receipt.Duplicate =>
      okLines += inFlight.fold(0L)(_._2.toLong)
      inFlight = None
      failures = 0
    case Receipt.Failed(error) if Final(error.condition) =>
      inFlight = None
      refuse(if (error.condition == Conditions.JournalFenced) TakenOver else error.problem)
    case _ =>
      failures += 1
      offeredAgainAt = nanos + math.min(LongestPause, FirstPause << math.min(failures - 1, 6))
  }

  /** Sends an error line, then closes the connection. */
  def refuse(reason: String): Unit = if (errorLine.isEmpty) errorLine = Some(s"ERR $reason\n")

  /** Whether nothing was received for longer than `idleTimeout`. */
  def isIdle(nanos: Long): Boolean =
    settings.idleTimeout.toNanos > 0 && inFlight.isEmpty && nanos - lastRead > settings.idleTimeout.toNanos

  /** Whether the client was refused as idle and does not read the error line either. */
  def isStuck(nanos: Long): Boolean = output.hasRemaining && isIdle(nanos - settings.idleTimeout.toNanos)

  /** Whether the first line was the token, if it must be. */
  def isKnown: Boolean = known

  /** Whether the client has had the time to send the first line. */
  def isOverdue(nanos: Long): Boolean = nanos - openedAt > GraceNanos

  /** Whether the first line is not complete after `GreetingSeconds`. */
  def isSilent(nanos: Long): Boolean = greeting.nonEmpty && nanos - openedAt > GreetingSeconds * 1000000000L

  def hasInFlight: Boolean = inFlight.nonEmpty

  def lineTooLong: Boolean = buffer.tooLong

  /** Writes pending acknowledgements and updates the selector's interest set.
    *
    * @param room
    *   whether more may be read
    * @return
    *   whether the connection is done and must be closed
    */
  def proceed(room: Boolean): Boolean = {
    if (buffer.tooLong && inFlight.isEmpty && buffer.lines == 0)
      refuse(Conditions.LineTooLong("remote" -> remote, "limit" -> settings.maxLineBytes).problem)
    writeReplies()
    val finished = inFlight.isEmpty && buffer.lines == 0 && (ended || errorLine.nonEmpty)
    val done = finished && !output.hasRemaining
    if (!done) {
      val isPaused = !room || isFilled
      val open = !ended && errorLine.isEmpty && !buffer.tooLong
      // Not idle: the client could not send.
      if (open && isPaused) lastRead = System.nanoTime()
      val read = if (open && !isPaused) SelectionKey.OP_READ else 0
      val write = if (output.hasRemaining) SelectionKey.OP_WRITE else 0
      if (key.interestOps != (read | write)) key.interestOps(read | write): Unit
    }
    done
  }

  /** Whether reading pauses until received lines are stored. An incomplete line is always read to its end. */
  private def isFilled: Boolean = buffer.length >= Pending && (inFlight.nonEmpty || buffer.lines > 0)

  private def writeReplies(): Unit = {
    if (!output.hasRemaining) {
      val last = errorLine.filter(_ => inFlight.isEmpty && buffer.lines == 0)
      val counts = if (settings.acknowledges && okLines > sentLines) s"OK $okLines$suffix\n" else ""
      sentLines = okLines
      val text = counts + last.getOrElse("")
      if (last.nonEmpty) errorLine = Some("")
      if (text.nonEmpty) output = ByteBuffer.wrap(text.getBytes(UTF_8))
    }
    if (output.hasRemaining) channel.write(output): Unit
  }

  /** Checks the first line, if it must contain the token.
    *
    * @return
    *   index in the block of the first byte after it
    */
  private def greet(block: Array[Byte], count: Int): Int = greeting.fold(0) { before =>
    val end = block.indexOf('\n'.toByte)
    val until = if (end < 0 || end >= count) count else end
    val line = before ++ block.slice(0, until)
    if (until == count && line.length <= LongestGreeting) {
      greeting = Some(line)
      count
    } else {
      greeting = None
      val expectedGreeting = Greeting ++ token.getOrElse(Array.emptyByteArray)
      val firstLine = if (line.lastOption.contains('\r'.toByte)) line.dropRight(1) else line
      known = MessageDigest.isEqual(firstLine, expectedGreeting)
      if (known) math.min(until + 1, count)
      else {
        unauthorizedCount.increment()
        refuse("the first line must be TOKEN and the token")
        count
      }
    }
  }
}

private object TcpConnection {

  /** Omits the journal's path, which is not for clients. */
  private val TakenOver =
    s"[EPOCHAL.${Conditions.JournalFenced.name}] Another run of the query has taken over, connect again"

  /** Maximum buffered bytes while an arrival is in flight; beyond, reading pauses. */
  val Pending: Int = 256 << 10

  private val Greeting = "TOKEN ".getBytes(US_ASCII)
  private val LongestGreeting = 8 << 10

  /** Maximum time between connect and the end of the first line, if it must be the token. */
  val GreetingSeconds = 30L

  // In nanoseconds.
  private val GraceNanos = 2000000000L
  private val FirstPause = 50000000L
  private val LongestPause = 2000000000L

  /** Errors that are final for this run. */
  private val Final = Set(Conditions.JournalFenced, Conditions.IntakeStopped)
}
