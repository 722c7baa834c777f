package io.epochal.core.journal

import java.io.EOFException

/** A file open for reading, by one thread. */
trait FileInput extends AutoCloseable {

  /** In bytes. */
  def length: Long

  /** Reads exactly `length` bytes.
    *
    * @throws java.io.EOFException
    *   if the file ends before
    */
  def read(position: Long, into: Array[Byte], from: Int, length: Int): Unit
}

object FileInput {

  /** A part of a file, as a file of its own whose first byte has the position `from`. */
  def of(bytes: Array[Byte], from: Long = 0): FileInput = new FileInput {
    override def length: Long = from + bytes.length
    override def read(position: Long, into: Array[Byte], at: Int, count: Int): Unit = {
      if (position < from || position + count > length) throw new EOFException(s"it has $length bytes")
      System.arraycopy(bytes, (position - from).toInt, into, at, count)
    }
    override def close(): Unit = ()
  }

  /** The bytes between two positions. */
  private[epochal] def bytes(file: FileInput, from: Long, until: Long): Array[Byte] = {
    val bytes = new Array[Byte](Math.toIntExact(until - from))
    file.read(from, bytes, 0, bytes.length)
    bytes
  }
}
