package io.epochal.spark.http

import java.io.ByteArrayInputStream
import java.nio.charset.StandardCharsets.UTF_8

import org.scalatest.Assertions.assert

/** Answers as they were received. */
private[spark] object Bodies {
  def of(text: String): BodyBuffer = of(text.getBytes(UTF_8))

  def of(bytes: Array[Byte]): BodyBuffer = {
    val buffer = new BodyBuffer
    assert(buffer.readFrom(new ByteArrayInputStream(bytes), BodyBuffer.MaxBytes))
    buffer
  }
}
