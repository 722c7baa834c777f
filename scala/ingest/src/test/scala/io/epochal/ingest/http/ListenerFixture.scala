package io.epochal.ingest.http

import java.net.InetSocketAddress
import java.nio.charset.StandardCharsets.UTF_8
import java.time.{Clock, Duration}
import java.util.concurrent.{CompletableFuture, ConcurrentHashMap, ConcurrentLinkedQueue}

import scala.jdk.CollectionConverters._
import scala.util.Using

import io.epochal.core.error.EpochalException
import io.epochal.core.option.OptionGroup
import io.epochal.ingest.intake.{Arrival, Intake, Receipt}

/** An intake in memory, with receipts that a test can replace. */
final class MemoryIntake extends Intake {
  override val run: String = "0123456789abcdef0123456789abcdef"
  private val stored = new ConcurrentLinkedQueue[Arrival]
  private val keys = ConcurrentHashMap.newKeySet[String]

  /** Receipt for an arrival that is not to be stored. */
  @volatile var instead: Arrival => Option[CompletableFuture[Receipt]] = _ => None
  @volatile var room = true

  def arrivals: Seq[Arrival] = stored.asScala.toSeq

  def records: Seq[String] = arrivals.flatMap(MemoryIntake.records)

  override def accept(arrival: Arrival): CompletableFuture[Receipt] = instead(arrival).getOrElse {
    val known = arrival.key.exists(key => !keys.add(key))
    if (!known) stored.add(arrival): Unit
    CompletableFuture.completedFuture(if (known) Receipt.Duplicate else Receipt.Stored(arrival.records))
  }

  override def hasRoom: Boolean = room

  override val gauges: Seq[(String, String, Long)] =
    Seq(("epochal_ingest_journal_bytes", "Bytes in the journal.", 42L))
}

object MemoryIntake {
  def records(arrival: Arrival): Seq[String] =
    (0 +: arrival.ends.toSeq).zip(arrival.ends.toSeq).map { case (from, until) =>
      new String(arrival.bytes, from, until - from, UTF_8)
    }
}

/** A listener on a free port, with an intake in memory. */
final class ListenerFixture(options: Map[String, String], clock: Clock) extends AutoCloseable {
  import ListenerFixture._

  val intake = new MemoryIntake
  val listener =
    new HttpListener(settings(options), new InetSocketAddress(options.getOrElse("host", "127.0.0.1"), 0), clock)

  listener.serve(intake)

  def port: Int = listener.address.getPort

  def client(): RawClient = new RawClient(port)

  /** The response to one request over a connection of its own. */
  def ask(method: String, path: String, body: String, headers: (String, String)*): RawResponse =
    askBytes(method, path, body.getBytes(UTF_8), headers: _*)

  def askBytes(method: String, path: String, body: Array[Byte], headers: (String, String)*): RawResponse =
    Using.resource(client()) { client =>
      client.send(RawClient.request(method, path, body, headers: _*))
      client.response()
    }

  def post(body: String, headers: (String, String)*): RawResponse =
    ask(
      "POST",
      "/",
      body,
      (if (headers.exists(_._1 == "Content-Type")) headers else ("Content-Type" -> "text/plain") +: headers): _*)

  override def close(): Unit = listener.close()
}

object ListenerFixture {
  private val group = OptionGroup("epochal-ingest", "", IngestHttpOptions.all)

  def read(options: Map[String, String], connections: Int = 100, idle: Duration = Duration.ofSeconds(20)) =
    group
      .parse(options.removedAll(Seq("host", "format")))
      .flatMap(IngestHttpOptions.read(_, connections, idle, options.getOrElse("format", "text")))

  def refusal(options: (String, String)*): EpochalException =
    read(options.toMap).fold(identity, found => throw new AssertionError(s"not refused: $found"))

  def settings(options: Map[String, String]): ListenerSettings =
    read(
      options.removedAll(Seq("connections", "idle")),
      options.get("connections").fold(100)(_.toInt),
      options.get("idle").fold(Duration.ofSeconds(20))(text => Duration.ofMillis(text.toLong)))
      .fold(throw _, identity)

  def listening[A](options: (String, String)*)(body: ListenerFixture => A): A =
    Using.resource(new ListenerFixture(options.toMap, Clock.systemUTC()))(body)
}
