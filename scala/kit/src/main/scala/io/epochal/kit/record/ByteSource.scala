package io.epochal.kit.record

import java.io.{ByteArrayInputStream, InputStream, SequenceInputStream}

import com.fasterxml.jackson.core.JsonParser

import io.epochal.kit.json.Json

/** Bytes that can be read from any place on. */
private[epochal] trait ByteSource {

  /** How many there are. */
  def length: Int

  /** Fills `into`, from its byte `at` on, with the bytes from `from` on. */
  def read(from: Int, into: Array[Byte], at: Int, count: Int): Unit

  /** The bytes before `until`, from `from` on. */
  def stream(from: Int, until: Int): InputStream

  /** Reads JSON from that byte on. */
  def parser(from: Int): JsonParser

  /** Reads JSON as if the bytes before `until`, from `from` on, were not there. */
  final def parserWithout(from: Int, until: Int): JsonParser =
    Json.factory.createParser(new SequenceInputStream(stream(0, from), stream(until, length)))

  final def slice(from: Int, until: Int): Array[Byte] = {
    val bytes = new Array[Byte](until - from)
    read(from, bytes, 0, bytes.length)
    bytes
  }
}

/** Bytes in memory, in UTF-8: a body, or whole records of one. */
final private[epochal] class Piece(val bytes: Array[Byte], override val length: Int) extends ByteSource {

  override def read(from: Int, into: Array[Byte], at: Int, count: Int): Unit =
    System.arraycopy(bytes, from, into, at, count)

  override def stream(from: Int, until: Int): InputStream = new ByteArrayInputStream(bytes, from, until - from)

  override def parser(from: Int): JsonParser = Json.factory.createParser(bytes, from, length - from)

}
