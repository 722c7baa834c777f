package io.epochal.random

import java.nio.file.Path
import java.time.Clock

import org.apache.hadoop.conf.Configuration

import io.epochal.kit.source.{InitialOffset, SourceStream}

/** Streams as a driver creates them, without a session. */
object RandomStreams {

  def over(clock: Clock, checkpoint: Path, options: (String, String)*): SourceStream[RandomPosition] = {
    val source = new RandomSource(RandomOptions.read(options.toMap).fold(throw _, identity), 2, clock)
    new SourceStream(source, new InitialOffset(checkpoint.toString, new Configuration()), clock)
  }
}
