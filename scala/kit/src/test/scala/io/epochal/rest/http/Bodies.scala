package io.epochal.rest.http

import java.io.ByteArrayInputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import org.scalatest.Assertions.assert

import io.epochal.kit.record.Body

/** Response bodies as received. */
private[epochal] object Bodies {
  def of(text: String): Body = of(text.getBytes(UTF_8))

  def of(bytes: Array[Byte]): Body = received(bytes, new Body)

  /** A body that is in a file if it has more than `inMemory` bytes. */
  def large(bytes: Array[Byte], inMemory: Int, partBytes: Int): Body =
    received(bytes, new Body(inMemory, partBytes))

  /** The response files that this process holds open. */
  def openFiles(): Seq[String] =
    Using
      .resource(Files.list(Paths.get("/proc/self/fd"))) { links =>
        links.iterator().asScala.flatMap(link => Try(Files.readSymbolicLink(link).toString).toOption).toVector
      }
      .filter(_.contains("epochal-response-"))

  private def received(bytes: Array[Byte], buffer: Body): Body = {
    assert(buffer.readText(new ByteArrayInputStream(bytes), Body.MaxBytes, None))
    buffer
  }
}
