package io.epochal.ingest.http

import java.io.{BufferedInputStream, EOFException, InputStream}
import java.net.{InetAddress, Socket}
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.util.Locale

/** A response as received. */
final case class RawResponse(status: Int, headers: Map[String, String], body: String)

/** One connection over which a test sends arbitrary bytes. */
final class RawClient(port: Int, open: Int => Socket = new Socket(InetAddress.getLoopbackAddress, _))
    extends AutoCloseable {
  private val socket = open(port)
  socket.setSoTimeout(30000)
  socket.setTcpNoDelay(true)
  private val in: InputStream = new BufferedInputStream(socket.getInputStream)

  def send(bytes: Array[Byte]): Unit = {
    socket.getOutputStream.write(bytes)
    socket.getOutputStream.flush()
  }

  def send(text: String): Unit = send(text.getBytes(ISO_8859_1))

  /** Ends the output; the client can still read. */
  def endOutput(): Unit = socket.shutdownOutput()

  /** The next response, delimited by its Content-Length or the end of the connection. */
  def response(): RawResponse = {
    val first = line()
    val status = first.split(' ')(1).toInt
    val headers = Iterator
      .continually(line())
      .takeWhile(_.nonEmpty)
      .map { header =>
        val (name, value) = header.splitAt(header.indexOf(':'))
        name.toLowerCase(Locale.ROOT) -> value.drop(1).trim
      }
      .toMap
    val length = headers.get("content-length").map(_.toInt)
    val body = if (status < 200) Array.emptyByteArray else length.fold(in.readAllBytes())(in.readNBytes)
    RawResponse(status, headers, new String(body, UTF_8))
  }

  /** All bytes until the server closes or resets the connection. */
  def rest(): String =
    try new String(in.readAllBytes(), ISO_8859_1)
    catch { case _: java.net.SocketException => "" }

  /** Waits until the server closes the connection; fails after 30 seconds. */
  def awaitEnd(): Unit = {
    val _ = rest()
  }

  override def close(): Unit = socket.close()

  private def line(): String = {
    val text = new StringBuilder
    var byte = in.read()
    while (byte >= 0 && byte != '\n') {
      if (byte != '\r') text.append(byte.toChar): Unit
      byte = in.read()
    }
    if (byte < 0) throw new EOFException(s"the connection ended in '$text'")
    text.result()
  }
}

object RawClient {

  def request(method: String, path: String, body: Array[Byte], headers: (String, String)*): Array[Byte] = {
    val lines = Seq(s"$method $path HTTP/1.1", "Host: localhost", s"Content-Length: ${body.length}") ++
      headers.map { case (name, value) => s"$name: $value" }
    lines.mkString("", "\r\n", "\r\n\r\n").getBytes(ISO_8859_1) ++ body
  }
}
