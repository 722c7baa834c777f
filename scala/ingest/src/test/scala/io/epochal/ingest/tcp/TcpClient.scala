package io.epochal.ingest.tcp

import java.io.{BufferedReader, InputStreamReader}
import java.net.Socket
import java.nio.charset.StandardCharsets.UTF_8

/** A client of a listener, line by line. */
final class TcpClient(port: Int) extends AutoCloseable {
  private val socket = new Socket("127.0.0.1", port)
  socket.setSoTimeout(60000)
  private val in = new BufferedReader(new InputStreamReader(socket.getInputStream, UTF_8))

  def send(text: String): Unit = sendBytes(text.getBytes(UTF_8))

  def sendBytes(bytes: Array[Byte]): Unit = {
    socket.getOutputStream.write(bytes)
    socket.getOutputStream.flush()
  }

  /** Ends the output, as `nc` does at the end of its input. */
  def finish(): Unit = socket.shutdownOutput()

  /** The next line from the listener; null: it has closed the connection. */
  def line(): String = in.readLine()

  /** Waits for an acknowledgement of at least `lines` lines. */
  def await(lines: Int): Unit = {
    var reply = line()
    while (reply != s"OK $lines") {
      require(reply != null && reply.startsWith("OK "), s"the listener sent $reply")
      reply = line()
    }
  }

  override def close(): Unit = socket.close()
}
