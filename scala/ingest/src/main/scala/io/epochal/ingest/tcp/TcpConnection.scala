package io.epochal.ingest.tcp

import java.nio.ByteBuffer
import java.nio.channels.{SelectionKey, SocketChannel}
import java.nio.charset.StandardCharsets.{US_ASCII, UTF_8}
import java.security.MessageDigest
import java.util.concurrent.atomic.LongAdder

import io.epochal.core.error.Conditions
import io.epochal.ingest.intake.{Arrival, Receipt}

/** One client. Only the listener's thread uses it.
  *
  * One of its arrivals is in flight at a time; lines that come meanwhile make the next one. So lines are stored in order, even if the
  * journal fails for a while and an arrival is offered again.
  *
  * @param strangers
  *   counts clients whose first line does not name the token
  */
final private[tcp] class TcpConnection(
    val channel: SocketChannel,
    key: SelectionKey,
    settings: TcpSettings,
    val remote: String,
    token: Option[Array[Byte]],
    strangers: LongAdder
) {
  import TcpConnection._

  private val buffer = new LineBuffer(settings.maxLineBytes, settings.blanks)
  private var underWay = Option.empty[(Arrival, Int)]
  private var offeredAgainAt = Long.MaxValue
  private var failures = 0
  private var acknowledged = 0L
  private var announced = 0L
  private var lastRead = System.nanoTime()
  private var ended = false
  private var farewell = Option.empty[String]
  private var output = ByteBuffer.allocate(0)
  private var greeting = token.map(_ => new Array[Byte](0))

  /** Takes received bytes.
    *
    * @param count
    *   -1 at the end of the client's input
    */
  def received(block: Array[Byte], count: Int): Unit = {
    lastRead = System.nanoTime()
    if (count < 0) {
      ended = true
      if (greeting.isEmpty) buffer.finish()
    } else {
      val from = greet(block, count)
      buffer.add(block, from, count)
    }
  }

  /** The next arrival to store; None if there is none, or one is in flight. */
  def next(now: Long): Option[Arrival] =
    if (underWay.nonEmpty || buffer.lines == 0) None
    else {
      val lines = buffer.take()
      if (lines.ends.isEmpty) {
        acknowledged += lines.count.toLong
        None
      } else {
        val arrival = Arrival("", remote, now, null, lines.bytes, lines.ends, None)
        underWay = Some(arrival -> lines.count)
        Some(arrival)
      }
    }

  /** The arrival that was not stored, if it is due to be offered again. */
  def again(nanos: Long): Option[Arrival] =
    if (nanos < offeredAgainAt) None
    else {
      offeredAgainAt = Long.MaxValue
      underWay.map(_._1)
    }

  /** Takes the receipt of the arrival in flight. */
  def stored(receipt: Receipt, nanos: Long): Unit = receipt match {
    case Receipt.Stored(_) | Receipt.Duplicate =>
      acknowledged += underWay.fold(0L)(_._2.toLong)
      underWay = None
      failures = 0
    case Receipt.Failed(error) if Final(error.condition) =>
      underWay = None
      refuse(if (error.condition == Conditions.JournalFenced) TakenOver else error.problem)
    case _ =>
      failures += 1
      offeredAgainAt = nanos + math.min(LongestPause, FirstPause << math.min(failures - 1, 6))
  }

  /** Ends the connection with an error line. */
  def refuse(reason: String): Unit = if (farewell.isEmpty) farewell = Some(s"ERR $reason\n")

  /** Whether nothing was received for longer than `idleTimeout`. */
  def isIdle(nanos: Long): Boolean =
    settings.idleTimeout.toNanos > 0 && underWay.isEmpty && nanos - lastRead > settings.idleTimeout.toNanos

  /** Whether it was refused for being idle, and does not even read the error line. */
  def isStuck(nanos: Long): Boolean = output.hasRemaining && isIdle(nanos - settings.idleTimeout.toNanos)

  def hasUnderWay: Boolean = underWay.nonEmpty

  def lineTooLong: Boolean = buffer.tooLong

  /** Writes pending acknowledgements, and sets what the selector waits for.
    *
    * @param room
    *   whether more may be read
    * @return
    *   whether the connection is finished and must be closed
    */
  def proceed(room: Boolean): Boolean = {
    if (buffer.tooLong && underWay.isEmpty && buffer.lines == 0)
      refuse(Conditions.LineTooLong("remote" -> remote, "limit" -> settings.maxLineBytes).problem)
    tell()
    val finished = underWay.isEmpty && buffer.lines == 0 && (ended || farewell.nonEmpty)
    val done = finished && !output.hasRemaining
    if (!done) {
      val waits = !room || isFilled
      val open = !ended && farewell.isEmpty && !buffer.tooLong
      // The client could not send anything.
      if (open && waits) lastRead = System.nanoTime()
      val read = if (open && !waits) SelectionKey.OP_READ else 0
      val write = if (output.hasRemaining) SelectionKey.OP_WRITE else 0
      if (key.interestOps != (read | write)) key.interestOps(read | write): Unit
    }
    done
  }

  /** Whether received lines must be stored before more is read. A line that has begun is read to its end. */
  private def isFilled: Boolean = buffer.length >= Pending && (underWay.nonEmpty || buffer.lines > 0)

  private def tell(): Unit = {
    if (!output.hasRemaining) {
      val last = farewell.filter(_ => underWay.isEmpty && buffer.lines == 0)
      val counts = if (settings.acknowledges && acknowledged > announced) s"OK $acknowledged\n" else ""
      announced = acknowledged
      val text = counts + last.getOrElse("")
      if (last.nonEmpty) farewell = Some("")
      if (text.nonEmpty) output = ByteBuffer.wrap(text.getBytes(UTF_8))
    }
    if (output.hasRemaining) channel.write(output): Unit
  }

  /** Reads the first line, if it must name the token.
    *
    * @return
    *   the index in the block at which the lines begin
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
      val expected = Greeting ++ token.getOrElse(Array.emptyByteArray)
      val said = if (line.lastOption.contains('\r'.toByte)) line.dropRight(1) else line
      if (MessageDigest.isEqual(said, expected)) math.min(until + 1, count)
      else {
        strangers.increment()
        refuse("the first line must be TOKEN and the token")
        count
      }
    }
  }
}

private object TcpConnection {

  /** Without the journal's path, which no client needs to know. */
  private val TakenOver =
    s"[EPOCHAL.${Conditions.JournalFenced.name}] Another run of the query has taken over, connect again"

  /** Bytes after which the client has to wait while an arrival is in flight. */
  val Pending: Int = 256 << 10

  private val Greeting = "TOKEN ".getBytes(US_ASCII)
  private val LongestGreeting = 8 << 10

  // In nanoseconds.
  private val FirstPause = 50000000L
  private val LongestPause = 2000000000L

  /** Errors that last as long as this run. */
  private val Final = Set(Conditions.JournalFenced, Conditions.IntakeStopped)
}
