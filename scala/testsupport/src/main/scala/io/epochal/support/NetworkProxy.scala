package io.epochal.support

import java.io.{InputStream, OutputStream}
import java.net.{InetAddress, ServerSocket, Socket}
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch, LinkedBlockingQueue}

import scala.jdk.CollectionConverters._
import scala.util.Try
import scala.util.matching.Regex

/** A TCP proxy on this host that behaves as a bad network: slow, or dead without closing a connection. It counts round
  * trips: how often a client sends something after the server has responded, or first.
  *
  * @param target
  *   the server's port on this host
  * @param delayMillis
  *   in each direction
  */
final class NetworkProxy(@volatile private var target: Int, delayMillis: Long = 0) extends AutoCloseable {
  private val server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress)
  private val links = new ConcurrentLinkedQueue[Link]
  private val trips = new AtomicInteger
  private val opened = new AtomicInteger
  @volatile private var stallsNew = false
  @volatile private var lost: Regex = null

  def port: Int = server.getLocalPort

  /** Routes new connections to another port. */
  def switchTo(port: Int): Unit = target = port

  /** A URL with the proxy in place of the server. */
  def url(direct: String): String = direct.replaceFirst(s":$target/", s":$port/")

  /** Forwards nothing more over the connections that are open, and closes none. New ones work. */
  def stall(): Unit = links.forEach(_.isStalled = true)

  /** Forwards nothing more at all; new connections are accepted, and stay silent. */
  def stallAll(): Unit = {
    stallsNew = true
    stall()
  }

  /** New connections work again. */
  def recover(): Unit = stallsNew = false

  /** Forwards the next request that contains a pattern, and nothing more over its connection: the response is lost. */
  def loseResponse(request: Regex): Unit = lost = request

  /** Whether such a response was lost. */
  def hasLostResponse: Boolean = lost == null

  /** Since the last call. */
  def roundTrips(): Int = trips.getAndSet(0)
  def connections(): Int = opened.getAndSet(0)

  NetworkProxy.background(
    Iterator
      .continually(Try(server.accept()))
      .takeWhile(_.isSuccess)
      .foreach(client => Try(new Link(client.get))))

  override def close(): Unit = {
    server.close()
    links.asScala.foreach(_.close())
  }

  final private class Link(client: Socket) {
    @volatile var isStalled: Boolean = stallsNew
    @volatile private var isSilent = false
    private val upstream = new Socket(InetAddress.getLoopbackAddress, target)
    private val end = new CountDownLatch(1)
    private var isClientsTurn = true

    links.add(this)
    opened.incrementAndGet()
    Seq(client, upstream).foreach(_.setTcpNoDelay(true))
    pump(client.getInputStream, upstream.getOutputStream, fromClient = true)
    pump(upstream.getInputStream, client.getOutputStream, fromClient = false)

    private def count(fromClient: Boolean): Unit = synchronized {
      if (fromClient && isClientsTurn) trips.incrementAndGet()
      isClientsTurn = !fromClient
    }

    private def pump(in: InputStream, out: OutputStream, fromClient: Boolean): Unit = {
      val forwarded = new LinkedBlockingQueue[(Long, Array[Byte])]
      def forward(bytes: Array[Byte]): Unit =
        if (bytes.isEmpty) out.close() else out.write(bytes)
      def read(): Array[Byte] = {
        val buffer = new Array[Byte](65536)
        val length = Try(in.read(buffer)).getOrElse(-1)
        if (isStalled || !fromClient && isSilent) end.await()
        if (length > 0) count(fromClient)
        val bytes = buffer.take(math.max(length, 0))
        if (fromClient && lost != null && lost.unanchored.matches(new String(bytes, "ISO-8859-1"))) {
          lost = null
          isSilent = true
        }
        bytes
      }
      NetworkProxy.background {
        Iterator.continually(read()).find { bytes =>
          if (delayMillis == 0) Try(forward(bytes)) else forwarded.add((System.nanoTime(), bytes))
          bytes.isEmpty
        }
      }
      if (delayMillis > 0) NetworkProxy.background {
        Iterator.continually(forwarded.take()).find { case (since, bytes) =>
          val left = delayMillis * 1000000 - (System.nanoTime() - since)
          if (left > 0) Thread.sleep(left / 1000000, (left % 1000000).toInt)
          if (isStalled) end.await()
          Try(forward(bytes))
          bytes.isEmpty
        }
      }
    }

    def close(): Unit = {
      end.countDown()
      Seq(client, upstream).foreach(socket => Try(socket.close()))
    }
  }
}

private object NetworkProxy {
  private def background(body: => Any): Unit = {
    val thread = new Thread(() => body: Unit, "network-proxy")
    thread.setDaemon(true)
    thread.start()
  }
}
