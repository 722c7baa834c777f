package io.epochal.jdbc

import java.io.{DataInputStream, EOFException, OutputStream}
import java.net.{InetAddress, ServerSocket, Socket}
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._
import scala.util.Try

/** A server of the MySQL protocol that answers chosen statements by asking for a file of the client. Everything else goes to a
  * server behind it.
  *
  * @param port
  *   of that server
  * @param asks
  *   how often to ask, for a statement's text
  */
final private[jdbc] class FileAskingServer(port: Int, file: String)(asks: String => Int) extends AutoCloseable {

  private val listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress)
  private val sent = new ConcurrentLinkedQueue[String]

  def url(behind: String): String = behind.replace(s":$port/", s":${listener.getLocalPort}/")

  /** The answers of clients, one text for each request for a file. */
  def received: Seq[String] = sent.asScala.toSeq

  /** Drops what was received. */
  def forget(): Unit = sent.clear()

  private def daemon(body: => Unit): Unit = {
    val thread = new Thread(() => Try(body): Unit, "file-asking-server")
    thread.setDaemon(true)
    thread.start()
  }

  daemon(Iterator.continually(listener.accept()).foreach(client => daemon(serve(client))))

  private def serve(client: Socket): Unit = {
    val server = new Socket(InetAddress.getLoopbackAddress, port)
    daemon {
      try server.getInputStream.transferTo(client.getOutputStream): Unit
      finally client.close()
    }
    val in = new DataInputStream(client.getInputStream)
    try
      while (true) {
        val (header, payload) = packet(in)
        val text = new String(payload, ISO_8859_1)
        val times = if (header(3) == 0 && text.headOption.contains('\u0003')) asks(text.drop(1)) else 0
        if (times == 0) server.getOutputStream.write(header ++ payload)
        else {
          val last = (1 to times).foldLeft(0)((number, _) => ask(in, client.getOutputStream, number + 1))
          reply(client.getOutputStream, last + 1, Array[Byte](0, 0, 0, 2, 0, 0, 0))
        }
      }
    catch { case _: EOFException => () }
    finally server.close()
  }

  /** Returns the number of the client's last packet. */
  private def ask(in: DataInputStream, out: OutputStream, number: Int): Int = {
    reply(out, number, 0xfb.toByte +: file.getBytes(ISO_8859_1))
    val packets = Iterator.continually(packet(in)).takeWhile(_._2.nonEmpty).toList
    sent.add(packets.map(p => new String(p._2, ISO_8859_1)).mkString): Unit
    number + packets.size + 1
  }

  private def packet(in: DataInputStream): (Array[Byte], Array[Byte]) = {
    val header = new Array[Byte](4)
    in.readFully(header)
    val payload = new Array[Byte]((header(0) & 0xff) | (header(1) & 0xff) << 8 | (header(2) & 0xff) << 16)
    in.readFully(payload)
    (header, payload)
  }

  private def reply(out: OutputStream, number: Int, payload: Array[Byte]): Unit = {
    val length = payload.length
    out.write(Array(length.toByte, (length >> 8).toByte, (length >> 16).toByte, number.toByte) ++ payload)
    out.flush()
  }

  override def close(): Unit = listener.close()
}
