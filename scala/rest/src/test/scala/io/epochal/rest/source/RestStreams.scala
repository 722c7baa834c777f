package io.epochal.rest.source

import java.nio.file.Path
import java.time.Clock

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.connector.read.streaming.Offset
import org.apache.spark.sql.types.StructType

import io.epochal.kit.record.RecordReading
import io.epochal.kit.source.{InitialOffset, SourceStream}
import io.epochal.rest.http.HttpCounters

/** Streams as the driver creates them, without a session. */
object RestStreams {

  /** Polls whenever it is called, as no query does by default. */
  def over(url: String, checkpoint: Path, schema: StructType, options: (String, String)*): SourceStream[RestPosition] =
    at(Clock.systemUTC(), url, checkpoint, schema, ("refreshInterval" -> "0s") +: options: _*)

  def at(
      clock: Clock,
      url: String,
      checkpoint: Path,
      schema: StructType,
      options: (String, String)*): SourceStream[RestPosition] = {
    val quick = Map("url" -> url, "retry.initialDelay" -> "1ms", "retry.maxDelay" -> "20ms")
    of(RestOptions.read(quick ++ options).fold(throw _, identity), schema, checkpoint, clock)
  }

  def of(
      options: RestOptions,
      schema: StructType,
      checkpoint: Path,
      clock: Clock = Clock.systemUTC()): SourceStream[RestPosition] = {
    val initial = new InitialOffset(checkpoint.toString, new Configuration())
    val source = RestSource.of(options, RecordReading(schema, "UTC"), initial, 2, clock, new HttpCounters)
    new SourceStream(source, initial, clock)
  }

  /** The identity in an offset. */
  def sourceOf(offset: Offset): String = new ObjectMapper().readTree(offset.json).path("source").asText
}
