package io.epochal.cdc.pgoutput

import java.util.Arrays

/** A part of an array, not copied. */
final private[cdc] case class Bytes(array: Array[Byte], offset: Int, length: Int) {
  def toArray: Array[Byte] = Arrays.copyOfRange(array, offset, offset + length)

  /** The same in an array of its own. */
  def deepCopy: Bytes = Bytes(toArray, 0, length)
}
