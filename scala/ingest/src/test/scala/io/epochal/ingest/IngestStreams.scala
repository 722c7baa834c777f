package io.epochal.ingest

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Path
import java.time.Clock
import java.util.concurrent.TimeUnit.SECONDS

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.types.StructType

import io.epochal.ingest.intake.{Arrival, Intake, Receipt}
import io.epochal.kit.record.RecordReading
import io.epochal.kit.source.{InitialOffset, SourceStream}

/** A stream and its parts as a driver creates them, without a session.
  *
  * @param begins
  *   whether to open the source, as a query's first batch does
  */
final class IngestRun(checkpoint: Path, options: Map[String, String], begins: Boolean = true) extends AutoCloseable {
  private val read = IngestOptions.read(Map("port" -> "0") ++ options).fold(throw _, identity)
  val initial = new InitialOffset(checkpoint.toString, new Configuration())
  private val reading = RecordReading(IngestRun.schema, "UTC")

  val source: IngestSource = IngestSource.of(read, None, reading, initial, 2)

  val stream: SourceStream[IngestPosition] = new SourceStream(source, initial, Clock.systemUTC())

  if (begins) source.open(IngestPosition(0), IngestPosition(0))

  def port: Int = source.receiver.listener.address.getPort

  def metric(name: String): String = source.metrics(None)(name)

  /** Column `value` of all acknowledged rows, as delivered. */
  def values(): Seq[String] = {
    val end = IngestPosition(source.receiver.journal.until)
    val factory = stream.createReaderFactory()
    source.supply.partitions(IngestPosition(0), end).toSeq.flatMap { partition =>
      val reader = factory.createReader(partition)
      try Iterator.continually(reader).takeWhile(_.next()).map(_.get().getUTF8String(0).toString).toVector
      finally reader.close()
    }
  }

  override def close(): Unit = stream.stop()
}

object IngestRun {

  /** The comparable columns. */
  val schema: StructType = StructType(IngestProvider.text.filterNot(_.name == "headers"))
}

object IngestStreams {

  def arrival(records: Seq[String], key: Option[String] = None, receivedAt: Long = 1000000L): Arrival = {
    val bytes = records.map(_.getBytes(UTF_8))
    val ends = bytes.scanLeft(0)(_ + _.length).drop(1)
    Arrival("events", "client:1", receivedAt, "{\"a\":\"1\"}", bytes.flatten.toArray, ends.toArray, key)
  }

  def store(intake: Intake, records: Seq[String], key: Option[String] = None): Receipt =
    intake.accept(arrival(records, key)).get(60, SECONDS)
}
