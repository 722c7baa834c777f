package io.epochal.kit.sink.row

import java.util.zip.CRC32C

import scala.collection.mutable.ArrayBuffer

import io.epochal.kit.spark.memory.Memory

/** Bytes that grow by chunks: growing copies nothing, and no array comes near 2 GiB.
  *
  * Chunks double from 8 KiB to 1 MiB. Writers must reserve first; reserved bytes lie in one chunk.
  *
  * @param limit
  *   `onLimit` is called if the total exceeds it
  */
final class ChunkedBytes(limit: Long, onLimit: () => Nothing) {
  import ChunkedBytes._

  private val full = ArrayBuffer.empty[Array[Byte]]
  private val lengths = ArrayBuffer.empty[Int]
  private var before = 0L
  private var chunk = new Array[Byte](First)
  private var position = 0
  private var markedChunks = 0
  private var markedPosition = 0

  /** Sets the mark to which `reset` returns. The bytes before it are whole rows. */
  def mark(): Unit = {
    markedChunks = full.size
    markedPosition = position
  }

  /** Discards the bytes written since the mark, however many chunks they fill. */
  def reset(): Unit = {
    if (full.size > markedChunks) {
      chunk = full(markedChunks)
      full.takeInPlace(markedChunks)
      lengths.takeInPlace(markedChunks)
      before = lengths.iterator.map(_.toLong).sum
    }
    position = markedPosition
  }

  def size: Long = before + position

  /** Makes room for this many contiguous bytes. */
  def reserve(bytes: Int): Unit = if (chunk.length - position < bytes) grow(bytes)

  def putByte(value: Int): Unit = {
    chunk(position) = value.toByte
    position += 1
  }

  /** Big-endian, as all numbers here. */
  def putShort(value: Int): Unit = {
    Memory.putShort(chunk, address, java.lang.Short.reverseBytes(value.toShort))
    position += 2
  }

  def putInt(value: Int): Unit = {
    Memory.putInt(chunk, address, Integer.reverseBytes(value))
    position += 4
  }

  def putLong(value: Long): Unit = {
    Memory.putLong(chunk, address, java.lang.Long.reverseBytes(value))
    position += 8
  }

  def putBytes(base: AnyRef, offset: Long, length: Int): Unit = {
    Memory.copy(base, offset, chunk, address, length.toLong)
    position += length
  }

  /** Passes on the written bytes, and starts over. The last chunk is reused: `write` must not keep it. */
  def drain(write: (Array[Byte], Int) => Unit): Unit = {
    full.indices.foreach(i => write(full(i), lengths(i)))
    if (position > 0) write(chunk, position)
    clear()
  }

  /** Empties the buffer for reuse. */
  def clear(): Unit = {
    full.clear()
    lengths.clear()
    before = 0
    position = 0
  }

  /** Appends all bytes to another buffer. */
  def copyTo(out: ChunkedBytes): Unit = {
    var i = 0
    while (i < full.length) {
      out.append(full(i), lengths(i))
      i += 1
    }
    out.append(chunk, position)
  }

  /** The chunks so far, each with its length in use. */
  def contents: (Array[Array[Byte]], Array[Int]) = ((full :+ chunk).toArray, (lengths :+ position).toArray)

  private def append(bytes: Array[Byte], length: Int): Unit = {
    reserve(length)
    putBytes(bytes, Memory.ARRAY_START, length)
  }

  /** The chunks, each with its length in use. Nothing may be written afterwards. */
  def result(): (Array[Array[Byte]], Array[Int]) = {
    if (size > limit) onLimit()
    if (position > 0) {
      full += (if (chunk.length - position > chunk.length / 8) java.util.Arrays.copyOf(chunk, position) else chunk)
      lengths += position
      before += position
      position = 0
    }
    chunk = Array.emptyByteArray
    (full.toArray, lengths.toArray)
  }

  private def address: Long = (Memory.ARRAY_START + position).toLong

  private def grow(bytes: Int): Unit = {
    if (size + bytes > limit) onLimit()
    if (position > 0) {
      full += chunk
      lengths += position
      before += position
    }
    chunk = new Array[Byte](math.max(bytes, math.min(chunk.length * 2, Largest)))
    position = 0
  }
}

object ChunkedBytes {
  private val First = 8 << 10
  private val Largest = 1 << 20

  /** CRC32C of the chunks' bytes, up to the lengths in use. */
  def checksum(chunks: Array[Array[Byte]], lengths: Array[Int]): Long = {
    val crc = new CRC32C
    chunks.indices.foreach(i => crc.update(chunks(i), 0, lengths(i)))
    crc.getValue
  }
}
