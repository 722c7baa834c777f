package io.epochal.jdbc.row

import java.nio.charset.StandardCharsets.UTF_8

import io.epochal.kit.spark.memory.Memory

/** Holds a reference to the bytes of the current text. One instance per task. */
abstract private[jdbc] class TextReference {
  final var base: AnyRef = _
  final var address = 0L
  final var length = 0

  final protected def point(base: AnyRef, address: Long, length: Int): Unit = {
    this.base = base
    this.address = address
    this.length = length
  }

  final protected def pointTo(text: String): Unit = {
    val bytes = text.getBytes(UTF_8)
    point(bytes, Memory.ARRAY_START, bytes.length)
  }
}
