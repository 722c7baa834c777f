package io.epochal.rest.source

import java.nio.file.Path
import java.time.Clock

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.types.StructType

import io.epochal.kit.source.InitialOffset
import io.epochal.rest.http.request.HttpCounters
import io.epochal.rest.source.paging.RestOptions
import io.epochal.rest.source.record.RestReading

/** Streams as a driver makes them, without a session. */
object RestStreams {

  def over(url: String, checkpoint: Path, schema: StructType, options: (String, String)*): RestStream =
    at(Clock.systemUTC(), url, checkpoint, schema, options: _*)

  def at(clock: Clock, url: String, checkpoint: Path, schema: StructType, options: (String, String)*): RestStream = {
    val quick = Map("url" -> url, "retry.initialDelay" -> "1ms", "retry.maxDelay" -> "20ms")
    new RestStream(
      RestOptions.read(quick ++ options).fold(throw _, identity),
      RestReading(schema, "UTC"),
      new InitialOffset(checkpoint.toString, new Configuration()),
      2,
      clock,
      new HttpCounters
    )
  }
}
