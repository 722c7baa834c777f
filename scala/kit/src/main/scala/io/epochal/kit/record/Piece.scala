package io.epochal.kit.record

import java.io.{ByteArrayInputStream, InputStream}

import com.fasterxml.jackson.core.JsonParser

import io.epochal.kit.json.Json

/** Bytes in memory, in UTF-8: a body, or whole records of one. */
final private[epochal] class Piece(val bytes: Array[Byte], override val length: Int) extends ByteSource {

  override def read(from: Int, into: Array[Byte], at: Int, count: Int): Unit =
    System.arraycopy(bytes, from, into, at, count)

  override def stream(from: Int, until: Int): InputStream = new ByteArrayInputStream(bytes, from, until - from)

  override def parser(from: Int): JsonParser = Json.factory.createParser(bytes, from, length - from)

}
