package io.epochal.testkit.connector

import java.io.{BufferedReader, InputStreamReader, OutputStream}
import java.net.{InetAddress, InetSocketAddress, ServerSocket, Socket, SocketException}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.StandardOpenOption.{APPEND, CREATE, DSYNC, WRITE}
import java.nio.file.{Files, Path}

import scala.collection.mutable.ArrayBuffer
import scala.util.Using

import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Receives lines over TCP into a journal in the checkpoint, and acknowledges each with `ok`.
  *
  * Options: `port`; `durable=false` acknowledges before the line is in the journal, which is wrong.
  */
final class Receiver extends LineProvider {
  override def stream(options: CaseInsensitiveStringMap, checkpoint: Path): MicroBatchStream =
    new ReceiverStream(options.getInt("port", 0), options.getBoolean("durable", true), checkpoint.resolve("journal"))
}

final class ReceiverStream(port: Int, durable: Boolean, journal: Path) extends LineStream(journal, 2) {
  Files.createDirectories(journal.getParent)
  private val waiting = ArrayBuffer.empty[String]
  private val server = new ServerSocket()
  server.setReuseAddress(true)
  server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress, port))
  private val listener = new Thread(() => listen())
  listener.setDaemon(true)
  listener.start()

  override protected def source: String = s"port $port"

  private def listen(): Unit =
    try while (true) Using.resource(server.accept())(serve)
    catch { case _: SocketException => () }

  private def serve(socket: Socket): Unit = {
    val lines = new BufferedReader(new InputStreamReader(socket.getInputStream, UTF_8))
    Iterator.continually(lines.readLine()).takeWhile(_ != null).foreach(receive(_, socket.getOutputStream))
  }

  private def receive(line: String, answer: OutputStream): Unit = {
    synchronized(waiting += line)
    if (durable) save()
    answer.write("ok\n".getBytes(UTF_8))
    answer.flush()
  }

  private def save(): Unit = synchronized {
    val _ = Files.writeString(journal, waiting.map(_ + "\n").mkString, CREATE, WRITE, APPEND, DSYNC)
    waiting.clear()
  }

  override protected def count: Long = synchronized(super.count + waiting.size)

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = {
    save()
    super.planInputPartitions(start, end)
  }

  override def stop(): Unit = server.close()
}
