package io.epochal.testkit.connector

import java.io.{BufferedReader, InputStreamReader}
import java.net.{ConnectException, InetAddress, ServerSocket, Socket, SocketException}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, StandardOpenOption}
import java.sql.DriverManager
import java.{lang, util}

import scala.jdk.CollectionConverters._
import scala.util.Using

import io.epochal.testkit.{FormatSink, FormatSource}

/** Appends lines to a file. */
class LineFixture(provider: Class[_ <: LineProvider], partitionable: Boolean = true)
    extends FormatSource(provider.getName) {
  private val directory = Files.createTempDirectory("epochal-lines")
  private val file = Files.createFile(directory.resolve("lines.txt"))
  private var written = 0

  override def options: util.Map[String, String] = util.Map.of("path", file.toString)

  override def optionsOfAnotherSource: util.Map[String, String] =
    util.Map.of("path", directory.resolve("other.txt").toString)

  override def partitionsOption: String = if (partitionable) "numPartitions" else ""

  override def makeAvailable(rows: Int): Unit = {
    val lines = (written until written + rows).map(n => s"${System.currentTimeMillis()} line $n")
    val _ = Files.write(file, lines.asJava, StandardOpenOption.APPEND)
    written += rows
  }

  override def close(): Unit = Seq("lines.txt", "lines.txt.position", "").foreach { name =>
    Files.deleteIfExists(directory.resolve(name))
  }
}

/** Client that sends each line until it is acknowledged. */
final class ReceiverFixture(durable: Boolean) extends FormatSource(classOf[Receiver].getName) {
  private val port = Using.resource(new ServerSocket(0, 1, InetAddress.getLoopbackAddress))(_.getLocalPort)
  private var sent = 0

  override def options: util.Map[String, String] =
    util.Map.of("port", port.toString, "durable", durable.toString)

  override def optionsOfAnotherSource: util.Map[String, String] = util.Map.of("port", "1")

  override def keepsRows: Boolean = false

  override def receives: Boolean = true

  override def makeAvailable(rows: Int): Unit = {
    val deadline = System.nanoTime() + 120000000000L
    (1 to rows).foreach(_ => send(deadline))
  }

  private def send(deadline: Long): Unit = {
    while (!acknowledged(s"line $sent")) {
      if (System.nanoTime() > deadline) throw new IllegalStateException(s"line $sent was not acknowledged")
      Thread.sleep(20)
    }
    sent += 1
  }

  private def acknowledged(line: String): Boolean =
    try
      Using.resource(new Socket(InetAddress.getLoopbackAddress, port)) { socket =>
        socket.getOutputStream.write(s"$line\n".getBytes(UTF_8))
        new BufferedReader(new InputStreamReader(socket.getInputStream, UTF_8)).readLine() == "ok"
      }
    catch { case _: ConnectException | _: SocketException => false }
}

/** Sink into a SQLite file. */
final class SqliteFixture(together: Boolean, refuses: Boolean = false) extends FormatSink(classOf[SqliteSink].getName) {
  private val directory = Files.createTempDirectory("epochal-sqlite")
  private val path = directory.resolve("ids.db").toString
  SqliteSink.create(path)
  private val reader = DriverManager.getConnection(SqliteSink.url(path))

  override def options: util.Map[String, String] = util.Map.of("path", path, "together", together.toString)

  /** A sink does not see the query's trigger. */
  override def exemptions: util.Map[String, String] =
    if (refuses) util.Map.of() else SqliteFixture.NoModes

  override def stored(): util.List[lang.Long] = SqliteSink.ids(reader).map(lang.Long.valueOf(_)).asJava

  override def close(): Unit = {
    reader.close()
    Using.resource(Files.list(directory))(_.iterator.asScala.toVector).foreach((file: Path) => Files.delete(file))
    Files.delete(directory)
  }
}

object SqliteFixture {
  private val why = "the sink does not see the trigger"
  val NoModes: util.Map[String, String] = util.Map.of("continuous", why, "real-time", why)
}
