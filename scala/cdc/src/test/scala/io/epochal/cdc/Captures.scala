package io.epochal.cdc

import java.nio.file.{Files, Path}
import java.util.Comparator

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Minutes, Span}

import io.epochal.cdc.value.ServerSuite
import io.epochal.core.journal.acknowledged.AcknowledgedJournal
import io.epochal.kit.source.journal.JournalFaults
import io.epochal.kit.source.{KeptMark, StoredMark}
import io.epochal.kit.store.HadoopFileStore

/** Captures without a query. */
trait Captures extends Eventually { this: ServerSuite =>

  /** The URL that a capture connects to. */
  protected def address: String = connection.getMetaData.getURL

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(1, Minutes), interval = Span(20, Millis))

  private var directories = Map.empty[String, Path]

  /** More rows than a frame has, in one range: without a key the table is not divided. */
  final protected def create(table: String, rows: Int = 20000): Unit = execute(
    s"CREATE TABLE $table (id int, note text)",
    s"ALTER TABLE $table REPLICA IDENTITY FULL",
    s"INSERT INTO $table SELECT i, repeat('x', 200) FROM generate_series(1, $rows) i",
    s"ANALYZE $table"
  )

  /** @param begun
    *   run between the creation of the slot and the start
    */
  final protected def capture(table: String, more: (String, String)*)(begun: => Unit)(body: Capture => Any): Unit =
    captures(table, more: _*)(begun)(next => body(next()))

  /** @param body
    *   gets what ends the capture and starts the next one, which continues it
    */
  final protected def captures(table: String, more: (String, String)*)(begun: => Unit)(
      body: (() => Capture) => Any): Unit = {
    val directory = Files.createTempDirectory("epochal-capture")
    directories += table -> directory
    val slot = s"capture_${ProcessHandle.current.pid}_$table"
    val named = Map("url" -> address, "dbtable" -> table, "slot" -> slot)
    val options = CdcOptions.read(named + ("heartbeatInterval" -> "50ms") ++ more).fold(throw _, identity)
    val tables = CdcTables.find(options)
    val plan = CapturePlan(options, options.server, tables, binary = false, threads = 2)
    val store = new HadoopFileStore(directory.toString, new Configuration)
    val faults = new JournalFaults(CdcOptions.Format, options.source, store.toString)
    val origin = new FirstStart(plan, directory.toString).create()
    var current = Option.empty[Capture]
    def next(): Capture = {
      current.foreach(_.close())
      val journal = AcknowledgedJournal.take(store, store.below("runs"), options.source)
      val capture = new Capture(plan, origin, journal, store, faults, None)
      current = Some(capture)
      capture.start()
      capture
    }
    begun
    try { body(() => next()); () }
    finally {
      current.foreach(_.close())
      eventually(execute(s"SELECT pg_drop_replication_slot('$slot')"))
      Using.resource(Files.walk(directory))(_.sorted(Comparator.reverseOrder()).forEach(Files.delete(_)))
    }
  }

  final protected def log(bytes: Int): Unit = execute(
    s"SELECT pg_logical_emit_message(false, 'test', repeat('x', $bytes))")

  /** The mark of the last capture of a table, in microseconds since 1970. */
  final protected def storedUntil(table: String): Option[Long] = {
    val marks = new HadoopFileStore(directories(table).toString, new Configuration).below(StoredMark.Directory)
    KeptMark.highest(marks.names())
  }

  final protected def number(capture: Capture, name: String): Double = capture.metrics(name).toDouble
}
