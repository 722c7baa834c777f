package io.epochal.spark.http

import java.io.ByteArrayInputStream
import java.nio.charset.StandardCharsets.UTF_8

import org.scalatest.Assertions.assert

/** Answers as they were received. */
private[spark] object Bodies {
  def of(text: String): BodyBuffer = of(text.getBytes(UTF_8))

  def of(bytes: Array[Byte]): BodyBuffer = received(bytes, new BodyBuffer)

  /** That lies in a file, where it has more than `inMemory` bytes. */
  def large(bytes: Array[Byte], inMemory: Int, partBytes: Int): BodyBuffer =
    received(bytes, new BodyBuffer(inMemory, partBytes))

  private def received(bytes: Array[Byte], buffer: BodyBuffer): BodyBuffer = {
    assert(buffer.readFrom(new ByteArrayInputStream(bytes), BodyBuffer.MaxBytes))
    buffer
  }
}
