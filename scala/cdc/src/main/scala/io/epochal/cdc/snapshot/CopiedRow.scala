package io.epochal.cdc.snapshot

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

import org.postgresql.util.ByteConverter

import io.epochal.cdc.pgoutput.Bytes

/** Reads rows of binary COPY: the key as text, if the server prints it, then the row as a tuple of pgoutput.
  *
  * @param keys
  *   columns of the printed key, before those of the row
  */
final private[snapshot] class CopiedRow(keys: Int, binary: Boolean) {
  private val kind = (if (binary) 'b' else 't').toByte
  private var out = ByteBuffer.allocate(1 << 12)

  /** The message of the row, from its key on. */
  private var in = ByteBuffer.allocate(0)

  /** Whether a message has a row: it is not the end mark. */
  def isIn(message: Array[Byte], from: Int): Boolean =
    message.length - from >= 2 && ByteConverter.int2(message, from) >= 0

  /** Reads the row of a message, which must not change until the next call. */
  def read(message: Array[Byte], from: Int): Unit = {
    in = ByteBuffer.wrap(message, from, message.length - from)
    val fields = in.getShort().toInt
    in.mark()
    var left = keys
    while (left > 0) {
      val length = in.getInt()
      in.position(in.position() + length)
      left -= 1
    }
    if (out.capacity < message.length + fields) out = ByteBuffer.allocate(2 * message.length + fields)
    out.clear().putShort((fields - keys).toShort)
    left = fields - keys
    while (left > 0) {
      val length = in.getInt()
      if (length < 0) out.put('n'.toByte)
      else {
        out.put(kind).putInt(length).put(message, in.position(), length)
        in.position(in.position() + length): Unit
      }
      left -= 1
    }
  }

  /** The printed key of the row. */
  def key: Seq[String] = {
    in.reset()
    Seq.fill(keys) {
      val text = new Array[Byte](in.getInt())
      in.get(text)
      new String(text, UTF_8)
    }
  }

  def tuple: Bytes = Bytes(out.array, 0, out.position())
}
