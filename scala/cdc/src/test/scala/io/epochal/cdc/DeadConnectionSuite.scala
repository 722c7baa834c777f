package io.epochal.cdc

import java.io.{InputStream, OutputStream}
import java.net.{InetAddress, ServerSocket, Socket, URI}

import scala.util.Try

import org.scalatest.tagobjects.Slow
import org.scalatest.time.{Millis, Minutes, Span}

import io.epochal.cdc.value.ServerSuite
import io.epochal.jdbc.PostgresServer

/** Connections of a capture that are dead but open, and others that are silent for good reasons. */
final class DeadConnectionSuite extends ServerSuite("PostgreSQL", PostgresServer.url) with Captures {

  /** A look at the server that is frozen, too, takes half a minute. */
  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(3, Minutes), Span(20, Millis))

  /** Forwards connections, until those that are open are frozen: nothing comes through any more, and nobody closes them. */
  private object proxy {
    private val target = URI.create(connection.getMetaData.getURL.stripPrefix("jdbc:"))
    private val server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress)
    @volatile private var frozen = 0
    @volatile private var opened = 0

    val url: String = connection.getMetaData.getURL.replaceFirst(s":${target.getPort}/", s":${server.getLocalPort}/")

    background(while (true) connect(server.accept()))

    def freeze(): Unit = frozen = opened

    private def connect(client: Socket): Unit = {
      opened += 1
      val number = opened
      val upstream = new Socket(target.getHost, target.getPort)
      background(pump(number, client.getInputStream, upstream.getOutputStream, upstream))
      background(pump(number, upstream.getInputStream, client.getOutputStream, client))
    }

    private def pump(number: Int, in: InputStream, out: OutputStream, to: Socket): Unit = {
      val block = new Array[Byte](8 << 10)
      try {
        var count = in.read(block)
        while (count >= 0 && number > frozen) {
          out.write(block, 0, count)
          count = in.read(block)
        }
      } finally if (number > frozen) to.close()
    }

    private def background(body: => Any): Unit = {
      val thread = new Thread(() => Try(body): Unit)
      thread.setDaemon(true)
      thread.start()
    }
  }

  override protected def address: String = proxy.url

  private def slot(table: String) = s"capture_${ProcessHandle.current.pid}_$table"

  /** Freezes a stream that has delivered a row. */
  private def frozen(table: String, more: Int = 0)(begun: => Unit): Unit = {
    execute(s"CREATE TABLE $table (id int PRIMARY KEY, note text)")
    capture(table, "startingOffset" -> "latest", "heartbeatInterval" -> "500ms")(()) { capture =>
      execute(s"INSERT INTO $table VALUES (1, 'a')")
      eventually(assert(capture.journal.until == 1))
      proxy.freeze()
      begun
      execute(s"INSERT INTO $table VALUES (2, 'b')")
      eventually(assert(capture.journal.until >= 2 + more && number(capture, "reconnects") >= 1))
      eventually(assert(number(capture, "slotLagBytes") == 0))
      assert(capture.ended.isEmpty && capture.journal.until == 2 + more)
    }
  }

  on("a stream through which nothing comes any more is read again, over another connection")(frozen("forgotten")(()))

  on("a stream whose server process has ended unnoticed is read again") {
    frozen("ended") {
      execute(s"SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '${slot("ended")}'")
    }
  }

  on("a stream to which the server cannot write is read again") {
    frozen("blocked", more = 5000) {
      execute("INSERT INTO blocked SELECT i, repeat(md5(i::text), 100) FROM generate_series(11, 5010) i")
    }
  }

  on("a full journal, and log without changes of the table, are no reasons to connect again", Slow) {
    execute("CREATE TABLE busy (id int PRIMARY KEY, note text)", "CREATE TABLE other (id int, note text)")
    capture("busy", "maxJournalBytes" -> "1k")(()) { capture =>
      execute("INSERT INTO busy SELECT i, repeat('x', 1000) FROM generate_series(1, 20000) i")
      eventually(assert(capture.isFull))
      val until = System.nanoTime() + 5000000000L
      while (System.nanoTime() < until) {
        assert(number(capture, "reconnects") == 0)
        Thread.sleep(100)
      }
      eventually {
        capture.deliveredUntil(capture.journal.until)
        assert(capture.journal.until == 20000)
      }
      // Decoded for longer than the capture waits for a heartbeat.
      execute("INSERT INTO other SELECT i, 'y' FROM generate_series(1, 3000000) i", "INSERT INTO busy VALUES (0, 'z')")
      eventually {
        capture.deliveredUntil(capture.journal.until)
        assert(capture.journal.until == 20001)
      }
      assert(number(capture, "reconnects") == 0)
    }
  }
}
