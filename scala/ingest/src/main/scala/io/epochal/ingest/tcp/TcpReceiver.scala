package io.epochal.ingest.tcp

import java.io.IOException
import java.net.{InetSocketAddress, Socket, StandardSocketOptions}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.ThreadLocalRandom
import java.util.concurrent.atomic.LongAdder

import scala.util.Try
import scala.util.control.NonFatal

import jdk.net.ExtendedSocketOptions.{TCP_KEEPCOUNT, TCP_KEEPIDLE, TCP_KEEPINTERVAL}
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.ingest.intake.{Arrival, Intake, Listener, Receipt}

/** Reads lines from a server and reconnects when the connection is lost: exponential backoff from 0.1 s to 30 s, with full jitter.
  *
  * Not guaranteed: lines that the server had sent and this run had not stored when it died. They cannot be requested again.
  */
final private[epochal] class TcpReceiver(settings: TcpSettings) extends Listener {
  private val log = LoggerFactory.getLogger(classOf[TcpReceiver])

  /** In seconds. */
  final private val ProbeAfter = 30

  final private val Block = 64 << 10
  final private val ConnectMillis = 10000

  // In milliseconds.
  final private val FirstPause = 100L
  final private val LongestPause = 30000L
  final private val LongestWait = 2000L

  override val address: InetSocketAddress = InetSocketAddress.createUnresolved(settings.host, settings.port)

  private val remote = s"${settings.host}:${settings.port}"
  private val connects, lost, linesTooLong = new LongAdder

  @volatile private var closing = false
  @volatile private var socket = Option.empty[Socket]
  @volatile private var connected = false

  // Set before the thread starts.
  private var intake: Intake = _
  private val thread = new ListenerThread("epochal-tcp-receiver")(run())

  override def serve(into: Intake): Unit = {
    intake = into
    thread.start()
  }

  override def finalError: Option[EpochalException] = thread.failure

  override def metrics: Map[String, String] = Map(
    "connected" -> connected.toString,
    "connects" -> connects.sum.toString,
    "connectionsLost" -> lost.sum.toString,
    "linesTooLong" -> linesTooLong.sum.toString
  )

  override def close(): Unit = {
    closing = true
    socket.foreach(open => Try(open.close()))
    thread.interrupt()
    thread.join()
  }

  private def run(): Unit = {
    var failures = 0
    while (!closing) {
      val before = connects.sum
      try receive()
      catch {
        case _: InterruptedException => ()
        case NonFatal(_) if closing  => ()
        case NonFatal(e) =>
          if (connects.sum > before) failures = 0
          if (failures == 0) log.warn(s"${Listener.Format} has no connection to $remote and retries: $e")
          lost.increment()
      }
      connected = false
      failures += 1
      val pause = math.min(LongestPause, FirstPause << math.min(failures - 1, 12))
      try if (!closing) Thread.sleep(ThreadLocalRandom.current.nextLong(pause + 1))
      catch { case _: InterruptedException => () }
    }
  }

  /** Reads one connection to its end. */
  private def receive(): Unit = {
    val open = new Socket
    socket = Some(open)
    try {
      if (closing) throw new InterruptedException
      noticeLoss(open)
      open.connect(new InetSocketAddress(settings.host, settings.port), ConnectMillis)
      connects.increment()
      connected = true
      settings.token.foreach { token =>
        open.getOutputStream.write(s"TOKEN ${token.read()}\n".getBytes(UTF_8))
        open.getOutputStream.flush()
      }
      val in = open.getInputStream
      val buffer = new LineBuffer(settings.maxLineBytes, settings.blanks)
      val block = new Array[Byte](Block)
      var count = in.read(block)
      while (count >= 0) {
        buffer.add(block, 0, count)
        if (in.available() == 0 || buffer.length >= TcpConnection.Pending) store(buffer)
        if (buffer.tooLong) {
          store(buffer)
          linesTooLong.increment()
          throw Conditions.LineTooLong("remote" -> remote, "limit" -> settings.maxLineBytes)
        }
        count = in.read(block)
      }
      buffer.finish()
      store(buffer)
      throw new IOException("the server has ended the connection")
    } finally {
      Try(open.close()): Unit
      socket = None
    }
  }

  /** Returns when all complete lines are stored. Nothing is read meanwhile. */
  private def store(buffer: LineBuffer): Unit = if (buffer.lines > 0) {
    val lines = buffer.drain()
    if (lines.ends.nonEmpty) {
      val arrival = lines.arrival(remote)
      var waitMillis = FirstPause
      while (!isStored(arrival)) {
        Thread.sleep(waitMillis)
        waitMillis = math.min(2 * waitMillis, LongestWait)
      }
    }
  }

  private def isStored(arrival: Arrival): Boolean = intake.accept(arrival).get() match {
    case Receipt.Stored(_) | Receipt.Duplicate                                           => true
    case Receipt.Failed(error) if error.condition == Conditions.JournalFenced || closing => throw error
    case _                                                                               => false
  }

  /** Enables TCP keep-alive: detects a vanished server after [[ProbeAfter]] seconds and a few unanswered probes. */
  private def noticeLoss(socket: Socket): Unit = {
    socket.setOption[java.lang.Boolean](StandardSocketOptions.SO_KEEPALIVE, true)
    val probes =
      Seq(TCP_KEEPIDLE -> ProbeAfter, TCP_KEEPINTERVAL -> ProbeAfter / 3, TCP_KEEPCOUNT -> 3)
    probes.foreach { case (option, value) =>
      if (socket.supportedOptions.contains(option)) socket.setOption(option, Int.box(value)): Unit
    }
  }
}
