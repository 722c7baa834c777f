package io.epochal.jdbc.row

/** Bytes in one array that grows and is used again. */
final private[jdbc] class ByteBuffer {
  private var array = new Array[Byte](64)
  private var position = 0

  /** Only the first `length` of them count. */
  def bytes: Array[Byte] = array
  def length: Int = position

  def clear(): Unit = position = 0

  def put(byte: Byte): Unit = {
    if (position == array.length) array = java.util.Arrays.copyOf(array, grown(1))
    array(position) = byte
    position += 1
  }

  def put(more: Array[Byte]): Unit = {
    if (more.length > array.length - position) array = java.util.Arrays.copyOf(array, grown(more.length))
    System.arraycopy(more, 0, array, position, more.length)
    position += more.length
  }

  private def grown(bytes: Int): Int = Math.addExact(position, math.max(position, bytes))
}
