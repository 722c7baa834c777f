package io.epochal.ingest.tcp

import java.io.IOException
import java.net.{InetSocketAddress, StandardSocketOptions}
import java.nio.ByteBuffer
import java.nio.channels.{CancelledKeyException, SelectionKey, Selector, SocketChannel}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.LinkedHashSet
import java.util.concurrent.atomic.LongAdder
import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue}

import scala.jdk.CollectionConverters._
import scala.util.Try
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.ingest.intake.{Arrival, Intake, Listener, Receipt}

/** Receives lines from any number of clients in one thread, which never blocks on a client or a disk.
  *
  * A slow or silent client costs only its buffer. While the intake has no room, nothing is read, so clients block in
  * `write`. Connections beyond `maxConnections` are closed at once. Clients that have not sent the token within 2 seconds have at
  * most half of these places, and make room for others: the oldest of them is closed. [[TcpConnection]] handles the lines of a
  * connection, and defines when they are acknowledged.
  *
  * @throws io.epochal.core.error.EpochalException
  *   PORT_UNAVAILABLE, by the constructor
  */
final private[epochal] class TcpListener(settings: TcpSettings) extends Listener {
  private val log = LoggerFactory.getLogger(classOf[TcpListener])

  final private val Block = 64 << 10

  /** Milliseconds between the checks for room, retries, idle connections, and a paused accept. */
  final private val Tick = 20L

  // In nanoseconds.
  final private val CloseNanos = 2000000000L
  final private val AdmissionPause = 1000000000L

  private val token = settings.token.map(_.read().getBytes(UTF_8))
  private val selector = Selector.open()
  private val server = Listener.closing(selector)(Listener.bind(new InetSocketAddress(settings.host, settings.port)))
  private val admission = {
    server.configureBlocking(false)
    server.register(selector, SelectionKey.OP_ACCEPT)
  }
  private val receipts = new ConcurrentLinkedQueue[(TcpConnection, Receipt)]
  private val connections = ConcurrentHashMap.newKeySet[TcpConnection]()
  // Those that have not sent the token, the oldest first.
  private val newcomers = new LinkedHashSet[TcpConnection]
  private val acceptedCount, refusedCount, unauthorizedCount, linesTooLong = new LongAdder
  private val block = new Array[Byte](Block)
  private val blockBuffer = ByteBuffer.wrap(block)

  // Whether the last accept succeeded; if not, when to try again.
  private var admits = true
  private var admitsFrom = System.nanoTime()

  @volatile private var closing = false

  // Set before the thread starts.
  private var intake: Intake = _
  private val thread = new ListenerThread("epochal-tcp")(run())

  override val address: InetSocketAddress = Listener.addressOf(server)

  override def serve(into: Intake): Unit = {
    intake = into
    thread.start()
  }

  override def finalError: Option[EpochalException] = thread.failure

  override def metrics: Map[String, String] = Map(
    "connections" -> connections.size.toString,
    "connectionsAccepted" -> acceptedCount.sum.toString,
    "connectionsRefused" -> refusedCount.sum.toString,
    "connectionsUnauthorized" -> unauthorizedCount.sum.toString,
    "linesTooLong" -> linesTooLong.sum.toString
  )

  /** Stops listening and reading, waits up to two seconds for the arrivals in flight, and closes all connections.
    * Arrivals stored by then are acknowledged.
    */
  override def close(): Unit = {
    closing = true
    selector.wakeup(): Unit
    thread.join()
    release()
  }

  private def run(): Unit =
    try loop()
    finally release()

  /** Closes all sockets. Idempotent. */
  private def release(): Unit = {
    connections.forEach(connection => end(connection))
    Try(server.close()): Unit
    Try(selector.close()): Unit
  }

  private def loop(): Unit = {
    var lastTick = System.nanoTime()
    var closingSince = 0L
    var running = true
    while (running)
      try {
        selector.select(Tick): Unit
        val ready = selector.selectedKeys
        ready.asScala.foreach(key => if (key.isValid) serve(key))
        ready.clear()
        Iterator.continually(receipts.poll()).takeWhile(_ != null).foreach { case (connection, receipt) =>
          guard(connection)(connection.onReceipt(receipt, System.nanoTime()))
        }
        val now = System.nanoTime()
        if (now - lastTick > Tick * 1000000L) {
          lastTick = now
          connections.forEach(connection => guard(connection)(tick(connection, now)))
          if (!closing && !admits && now - admitsFrom >= 0) admission.interestOps(SelectionKey.OP_ACCEPT): Unit
        }
        if (closing) {
          if (closingSince == 0L) {
            closingSince = now
            Try(server.close()): Unit
          }
          running = connections.asScala.exists(_.hasInFlight) && now - closingSince < CloseNanos
        }
      } catch { case NonFatal(e) => log.warn(s"${Listener.Format} on $address: ${e.getMessage}", e) }
  }

  private def serve(key: SelectionKey): Unit = key.attachment match {
    case connection: TcpConnection =>
      guard(connection)(if (key.isReadable && !closing) read(connection))
    case _ => if (key.isAcceptable) admit()
  }

  /** Accepts a connection. After a failure, such as no free file descriptor, none is accepted for a second. */
  private def admit(): Unit =
    try {
      val channel = server.accept()
      admits = true
      if (channel != null) {
        acceptedCount.increment()
        makeRoom()
        if (connections.size >= settings.maxConnections) {
          refusedCount.increment()
          channel.close()
        } else
          try open(channel)
          catch {
            case e: IOException =>
              Try(channel.close()): Unit
              log.warn(s"${Listener.Format} on $address: a connection was lost during accept: ${e.getMessage}")
          }
      }
    } catch {
      case e: IOException =>
        admission.interestOps(0): Unit
        admitsFrom = System.nanoTime() + AdmissionPause
        if (admits) log.warn(s"${Listener.Format} on $address cannot accept connections for now: ${e.getMessage}")
        admits = false
    }

  /** A client that has the token sends it at once: whoever has waited longest does not have it. While there is a place for
    * everybody, each client gets the time to do so: many may connect at once.
    */
  private def makeRoom(): Unit = {
    val isFull = connections.size >= settings.maxConnections
    val isCrowded = newcomers.size >= math.max(1, settings.maxConnections / 2)
    newcomers.asScala.headOption
      .filter(oldest => isFull || isCrowded && oldest.isOverdue(System.nanoTime()))
      .foreach { oldest =>
        refusedCount.increment()
        end(oldest)
      }
  }

  private def open(channel: SocketChannel): Unit = {
    channel.configureBlocking(false)
    channel.setOption[java.lang.Boolean](StandardSocketOptions.TCP_NODELAY, true)
    val key = channel.register(selector, SelectionKey.OP_READ)
    val remote = Listener.remoteText(channel.getRemoteAddress)
    val connection = new TcpConnection(channel, key, settings, remote, token, unauthorizedCount, intake.run)
    key.attach(connection)
    connections.add(connection): Unit
    if (!connection.isKnown) newcomers.add(connection): Unit
  }

  private def read(connection: TcpConnection): Unit = {
    blockBuffer.clear()
    val count = connection.channel.read(blockBuffer)
    val knew = connection.lineTooLong
    if (count != 0) connection.receive(block, count)
    if (connection.isKnown) newcomers.remove(connection): Unit
    if (connection.lineTooLong && !knew) linesTooLong.increment()
  }

  /** The periodic work for a connection: retries an arrival that was not stored, and ends a connection that is idle. */
  private def tick(connection: TcpConnection, now: Long): Unit = {
    connection.retry(now).foreach(offer(connection, _))
    if (connection.isStuck(now)) throw new IOException("idle: neither reading nor writing")
    if (connection.isSilent(now))
      connection.refuse(s"TOKEN and the token did not come within ${TcpConnection.GreetingSeconds} s")
    if (connection.isIdle(now)) connection.refuse(s"nothing was sent for ${settings.idleTimeout.toSeconds} s")
  }

  /** Passes an arrival to the intake. Its receipt reaches the listener's thread through `receipts`. */
  private def offer(connection: TcpConnection, arrival: Arrival): Unit = {
    val _ = intake.accept(arrival).thenAccept { receipt =>
      receipts.add(connection -> receipt)
      selector.wakeup(): Unit
    }
  }

  /** Runs a step of a connection, then offers its next arrival and writes its replies. Closes the connection if it is
    * done, or if any of this fails.
    */
  private def guard(connection: TcpConnection)(body: => Unit): Unit =
    try {
      body
      if (!closing) connection.next().foreach(offer(connection, _))
      // The token needs no room: a client must not be refused because it could not send it.
      if (connection.proceed(!closing && (!connection.isKnown || intake.hasRoom))) end(connection)
    } catch {
      case _: IOException | _: CancelledKeyException => end(connection)
      case NonFatal(e) =>
        log.warn(s"The connection of ${connection.remote} is closed: ${e.getMessage}", e)
        end(connection)
    }

  private def end(connection: TcpConnection): Unit = {
    connections.remove(connection): Unit
    newcomers.remove(connection): Unit
    Try(connection.channel.close()): Unit
  }
}

/** The single thread of a listener. Runs until `body` returns or fails. */
final private[tcp] class ListenerThread(name: String)(body: => Unit) extends Thread(name) {

  /** The error that ended the thread, if one did. */
  @volatile private[tcp] var failure = Option.empty[EpochalException]

  setDaemon(true)

  override def run(): Unit =
    try body
    catch {
      case e: Throwable =>
        failure = Some(Conditions.FeedFailed.because(e)("source" -> Listener.Format, "reason" -> e.toString))
        LoggerFactory.getLogger(classOf[ListenerThread]).error(s"${Listener.Format} receives nothing more: $e", e)
    }
}
