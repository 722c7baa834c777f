package io.epochal.kit.record

import java.io.{InputStream, SequenceInputStream}

import com.fasterxml.jackson.core.JsonParser

import io.epochal.kit.json.Json

/** Bytes with random access. */
private[epochal] trait ByteSource {

  def length: Int

  /** Fills `into`, from index `at` on, with the bytes from `from` on. */
  def read(from: Int, into: Array[Byte], at: Int, count: Int): Unit

  /** The bytes from `from` to before `until`. */
  def stream(from: Int, until: Int): InputStream

  def parser(from: Int): JsonParser

  /** Parses JSON as if the bytes from `from` to before `until` were missing. */
  final def parserWithout(from: Int, until: Int): JsonParser =
    Json.factory.createParser(new SequenceInputStream(stream(0, from), stream(until, length)))

  final def slice(from: Int, until: Int): Array[Byte] = {
    val bytes = new Array[Byte](until - from)
    read(from, bytes, 0, bytes.length)
    bytes
  }
}
