package io.epochal.ingest.tcp

import java.nio.file.Files
import java.util.concurrent.CompletableFuture
import java.util.concurrent.atomic.LongAdder

import scala.util.{Random, Using}

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.ingest.intake.{Arrival, Intake, Receipt}
import io.epochal.ingest.{IngestOptions, IngestRun, IngestStreams}

final class TcpListenerSuite extends AnyFunSuite with Eventually {
  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(60, Seconds), Span(10, Millis))

  private def listening(options: (String, String)*)(body: IngestRun => Any): Unit = {
    val checkpoint = Files.createTempDirectory("epochal-ingest").resolve("0")
    Using.resource(new IngestRun(checkpoint, options.toMap)) { run => body(run); () }
  }

  private def client[A](run: IngestRun)(body: TcpClient => A): A = Using.resource(new TcpClient(run.port))(body)

  test("each line is a record, in order, with \\n, \\r\\n or at the end no line end") {
    listening() { run =>
      client(run) { client =>
        client.send("a\nb\r\n\n  c d \nlast")
        client.finish()
        assert(client.line() == null)
      }
      assert(run.values() == Seq("a", "b", "", "  c d ", "last"))
      assert(run.metric("acknowledged") == "5" && run.metric("connectionsAccepted") == "1")
    }
  }

  test("with ack=true a client gets the count of its stored lines, and a new run has them") {
    val checkpoint = Files.createTempDirectory("epochal-ingest").resolve("0")
    Using.resource(new IngestRun(checkpoint, Map("ack" -> "true"))) { run =>
      client(run) { client =>
        client.send("a\nb\nc")
        client.await(2)
        client.send("d\n\n")
        client.await(4)
        client.finish()
        assert(client.line() == null)
      }
    }
    Using.resource(new IngestRun(checkpoint, Map.empty))(run => assert(run.values() == Seq("a", "b", "cd", "")))
  }

  test("with ackRun=true each acknowledgement names the run, another one after a restart, and the progress has it") {
    val checkpoint = Files.createTempDirectory("epochal-ingest").resolve("0")
    val runs = Seq("a", "b").map { line =>
      Using.resource(new IngestRun(checkpoint, Map("ack" -> "true", "ackRun" -> "true"))) { run =>
        client(run) { client =>
          client.send(s"$line\n")
          assert(client.line() == s"OK 1 ${run.metric("run")}")
        }
        run.metric("run")
      }
    }
    assert(runs.forall(_.matches("[0-9a-f]{32}")) && runs.distinct.size == 2)
  }

  test("lines do not depend on packet boundaries") {
    val random = new Random(7)
    val lines = Seq.fill(200)(random.alphanumeric.take(random.nextInt(300)).mkString)
    listening("ack" -> "true") { run =>
      client(run) { client =>
        val text = lines.mkString("", "\n", "\n")
        var at = 0
        while (at < text.length) {
          val end = math.min(text.length, at + 1 + random.nextInt(1000))
          client.send(text.substring(at, end))
          at = end
        }
        client.await(lines.size)
      }
      assert(run.values() == lines)
    }
  }

  test("lines of many clients are all stored, in order per client") {
    val (clients, each) = (8, 2000)
    listening("ack" -> "true") { run =>
      val threads = (0 until clients).map { n =>
        val thread = new Thread(() =>
          client(run) { client =>
            (0 until each).grouped(50).foreach(lines => client.send(lines.map(i => s"$n,$i\n").mkString))
            client.await(each)
          })
        thread.start()
        thread
      }
      threads.foreach(_.join())
      val found = run.values().map(_.split(',')).groupMap(_(0))(_(1).toInt)
      assert(found.size == clients && found.values.forall(_ == (0 until each)))
    }
  }

  test("a client that stops in the middle of a line, or never reads, does not block others") {
    listening("ack" -> "true") { run =>
      Using.resource(new TcpClient(run.port)) { stuck =>
        stuck.send("half a li")
        Using.resource(new TcpClient(run.port)) { deaf =>
          (1 to 2000).foreach(n => deaf.send(s"$n\n"))
          client(run) { other =>
            other.send("x\n")
            other.await(1)
          }
        }
        assert(run.values().contains("x") && !run.values().exists(_.startsWith("half")))
      }
    }
  }

  test("a line that is too long is refused with LINE_TOO_LONG, and the lines before it are stored") {
    listening("ack" -> "true", "maxLineBytes" -> "10") { run =>
      client(run) { client =>
        client.send(s"0123456789\r\n${"x" * 100}")
        assert(client.line() == "OK 1")
        val reply = client.line()
        assert(reply.startsWith("ERR [EPOCHAL.LINE_TOO_LONG]") && reply.contains("more than 10 bytes"))
        assert(client.line() == null)
      }
      assert(run.values() == Seq("0123456789") && run.metric("linesTooLong") == "1")
    }
  }

  test("a line longer than the pending limit is stored whole") {
    val lines = Seq("first", "x" * (500 << 10), "y" * ((1 << 20) - 1), "last")
    listening("ack" -> "true") { run =>
      client(run) { client =>
        client.send(lines.mkString("", "\n", "\n"))
        client.await(lines.size)
      }
      assert(run.values() == lines)
    }
  }

  test("a client that cannot send because the journal is full is not idle") {
    listening("ack" -> "true", "maxJournalBytes" -> "20k", "idleTimeout" -> "300ms") { run =>
      client(run) { client =>
        IngestStreams.store(run.source.receiver.intake, Seq("z" * (20 << 10))): Unit
        assert(!run.source.receiver.intake.hasRoom)
        // It is not read for three times the idle timeout.
        client.send("a\n")
        Thread.sleep(900)
        var at = run.stream.initialOffset()
        eventually {
          at = run.stream.latestOffset(at, run.stream.getDefaultReadLimit)
          assert(run.source.receiver.intake.hasRoom)
        }
        client.await(1)
      }
    }
  }

  test("options that do not apply to the transport are refused") {
    Seq("dedupWindow" -> "1h", "signatureTolerance" -> "1m", "maxRequestBytes" -> "1m").foreach { option =>
      val error = IngestOptions.read(Map("port" -> "0", option)).swap.getOrElse(fail(s"$option was accepted"))
      assert(error.condition == Conditions.OptionConflict && error.getMessage.contains(option._1))
    }
    val http = Map("port" -> "0", "protocol" -> "http")
    Seq(
      Map("format" -> "json", "schema" -> "a INT", "invalidUtf8" -> "keep"),
      Map("signatureTolerance" -> "1m"),
      Map("signature" -> "github", "signatureSecret" -> "s", "signatureTolerance" -> "1m")
    ).foreach(options => assert(IngestOptions.read(http ++ options).isLeft, options))
  }

  test("bytes that are not UTF-8 are replaced, or kept") {
    val bytes = Array[Byte]('a', -1, 'b', '\n')
    Seq("replace" -> "a\uFFFDb", "keep" -> "a\uFFFDb").foreach { case (option, text) =>
      listening("ack" -> "true", "invalidUtf8" -> option) { run =>
        client(run) { client =>
          client.sendBytes(bytes)
          client.await(1)
        }
        assert(run.values() == Seq(text))
        val plan = run.source.supply.partitions(run.source.first, run.source.supply.take(run.source.first, 1))
        val reader = run.stream.createReaderFactory().createReader(plan.head)
        assert(reader.next() && (reader.get().getUTF8String(0).getBytes.length == 3) == (option == "keep"))
        reader.close()
      }
    }
  }

  test("while the journal is full nothing is read, and nothing is lost: clients wait") {
    listening("ack" -> "true", "maxJournalBytes" -> "20k") { run =>
      val lines = Seq.tabulate(3000)(n => s"$n ${"x" * 90}")
      client(run) { client =>
        val sender = new Thread(() => client.send(lines.mkString("", "\n", "\n")))
        sender.start()
        eventually(assert(!run.source.receiver.intake.hasRoom))
        // Only batches make room.
        val reader = new Thread(() => client.await(lines.size))
        reader.start()
        var at = run.stream.initialOffset()
        eventually {
          at = run.stream.latestOffset(at, run.stream.getDefaultReadLimit)
          assert(!reader.isAlive)
        }
        sender.join()
      }
      assert(run.values() == lines)
    }
  }

  test("the first line must contain the token, if one is configured") {
    listening("ack" -> "true", "token" -> "s3cret") { run =>
      Seq("hello\n", "TOKEN wrong\nhello\n", "TOKEN s3cret2\n", "TOKEN \n").foreach { greeting =>
        client(run) { client =>
          client.send(greeting)
          assert(client.line() == "ERR the first line must be TOKEN and the token" && client.line() == null)
        }
      }
      client(run) { client =>
        client.send("TOK")
        client.send("EN s3cret\r\na\nb\n")
        client.await(2)
      }
      assert(run.values() == Seq("a", "b"))
      assert(run.metric("connectionsUnauthorized") == "4")
    }
  }

  test("while the journal is full a client can still send its token") {
    listening("token" -> "t", "maxJournalBytes" -> "20k") { run =>
      IngestStreams.store(run.source.receiver.intake, Seq("z" * (20 << 10))): Unit
      assert(!run.source.receiver.intake.hasRoom)
      client(run) { client =>
        Thread.sleep(200)
        client.send("TOKEN wrong\n")
        assert(client.line() == "ERR the first line must be TOKEN and the token")
      }
    }
  }

  test("many clients that connect at once are not refused before they could send the token") {
    listening("token" -> "t", "maxConnections" -> "10", "ack" -> "true") { run =>
      val all = Seq.fill(9)(new TcpClient(run.port))
      eventually(assert(run.metric("connections") == "9"))
      all.foreach { client =>
        client.send("TOKEN t\na\n")
        client.await(1)
        client.close()
      }
    }
  }

  test("an idle connection is closed, and one above the maximum immediately") {
    listening("idleTimeout" -> "200ms", "maxConnections" -> "1") { run =>
      client(run) { idle =>
        eventually(assert(run.metric("connections") == "1"))
        client(run)(second => assert(second.line() == null))
        assert(idle.line().startsWith("ERR nothing was sent"))
      }
      assert(run.metric("connectionsRefused") == "1")
      eventually(assert(run.metric("connections") == "0"))
    }
  }

  test("clients without the token do not keep out those that have it") {
    listening("token" -> "t", "maxConnections" -> "10", "ack" -> "true") { run =>
      def known(): TcpClient = {
        val client = new TcpClient(run.port)
        client.send("TOKEN t\na\n")
        client.await(1)
        client
      }
      val silent = Seq.fill(30)(new TcpClient(run.port))
      val open = Seq.fill(5)(known())
      val more = Seq.fill(30)(new TcpClient(run.port))
      open.foreach { client =>
        client.send("b\n")
        client.await(2)
      }
      known().close()
      eventually(assert(run.metric("connections").toInt <= 10))
      (silent ++ more ++ open).foreach(_.close())
    }
  }

  test("a connection whose first line does not become complete is closed") {
    val connection = new TcpSettings("", 0, None, false, false, 10, java.time.Duration.ZERO, 1, true)
    Using.resource(java.nio.channels.Selector.open()) { selector =>
      Using.resource(java.nio.channels.SocketChannel.open()) { channel =>
        channel.configureBlocking(false): Unit
        val key = channel.register(selector, 0)
        def opened(token: Option[String]) =
          new TcpConnection(channel, key, connection, "", token.map(_.getBytes("UTF-8")), new LongAdder, "")
        val later = System.nanoTime() + 31000000000L
        val waiting = opened(Some("t"))
        waiting.receive("TOKEN".getBytes("UTF-8"), 5)
        assert(waiting.isSilent(later) && !waiting.isSilent(System.nanoTime()) && !opened(None).isSilent(later))
        waiting.receive(" t\n".getBytes("UTF-8"), 3)
        assert(waiting.isKnown && !waiting.isSilent(later))
      }
    }
  }

  test("a port in use is an error that names it; the next run listens on the same port") {
    listening() { run =>
      val error = intercept[EpochalException] {
        val other = Files.createTempDirectory("epochal-ingest").resolve("0")
        new IngestRun(other, Map("port" -> run.port.toString))
      }
      assert(error.condition == Conditions.PortUnavailable && error.getMessage.contains(s"127.0.0.1:${run.port}"))
      client(run) { client =>
        client.send("a\n")
        run.close()
        val other = Files.createTempDirectory("epochal-ingest").resolve("0")
        Using.resource(new IngestRun(other, Map("port" -> run.port.toString)))(again => assert(again.port == run.port))
      }
    }
  }

  test("an address that other machines can reach requires a token") {
    Seq("0.0.0.0", "::", "192.0.2.1").foreach { host =>
      val error = IngestOptions.read(Map("port" -> "0", "host" -> host)).swap.getOrElse(fail(s"$host was not refused"))
      assert(error.condition == Conditions.ListenerExposed)
      assert(IngestOptions.read(Map("port" -> "0", "host" -> host, "token" -> "t")).isRight)
    }
    Seq("127.0.0.1", "localhost", "::1").foreach(host =>
      assert(IngestOptions.read(Map("port" -> "0", "host" -> host)).isRight))
  }

  test("after random input in random pieces the listener serves the next client") {
    val random = new Random(11)
    listening("maxLineBytes" -> "1k", "ack" -> "true") { run =>
      (1 to 200).foreach { _ =>
        client(run) { client =>
          try
            (0 to random.nextInt(4)).foreach { _ =>
              val bytes = new Array[Byte](random.nextInt(4000))
              random.nextBytes(bytes)
              client.sendBytes(bytes)
            }
          catch { case _: java.io.IOException => () } // Refused.
        }
      }
      client(run) { client =>
        client.send("good\n")
        client.await(1)
      }
      assert(run.values().contains("good"))
    }
  }

  test("an error of the JVM in the listener's thread ends the run by name") {
    val read = IngestOptions.read(Map("port" -> "0")).fold(throw _, identity)
    Using.resource(read.listen()) { listener =>
      listener.serve(new Intake {
        override def accept(arrival: Arrival): CompletableFuture[Receipt] = throw new LinkageError("a class is missing")
        override def hasRoom: Boolean = true
        override def run: String = "run"
      })
      Using.resource(new TcpClient(listener.address.getPort)) { client =>
        client.send("a\n")
        eventually(assert(listener.finalError.exists(_.condition == Conditions.FeedFailed)))
        assert(listener.finalError.get.getMessage.contains("a class is missing"))
      }
    }
  }

  test("a failing disk delays acknowledgements, and no line is lost or stored twice") {
    listening("ack" -> "true") { run =>
      IngestStreams.store(run.source.receiver.intake, Seq("first")): Unit
      run.source.receiver.intake.hold()
      client(run) { client =>
        client.send("a\nb\n")
        client.send("c\n")
        eventually(assert(run.metric("connections") == "1"))
        assert(run.values() == Seq("first"))
        run.source.receiver.intake.resume()
        client.await(3)
      }
      assert(run.values() == Seq("first", "a", "b", "c"))
    }
  }
}
