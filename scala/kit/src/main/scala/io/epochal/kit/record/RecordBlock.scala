package io.epochal.kit.record

import java.util.Arrays

/** Records that can be read without the rest of the page, as a JSON array or as lines: the bytes `from` to `until`.
  *
  * @param records
  *   their number, at least 1
  */
final private[epochal] case class RecordBlock(records: Int, bytes: Array[Byte], from: Int, until: Int) {
  def length: Int = until - from

  /** The block with a prefix, in a new array unless the prefix is empty. */
  def behind(front: Array[Byte]): RecordBlock =
    if (front.isEmpty) this
    else {
      val whole = Arrays.copyOf(front, front.length + length)
      System.arraycopy(bytes, from, whole, front.length, length)
      copy(bytes = whole, from = 0, until = whole.length)
    }
}
