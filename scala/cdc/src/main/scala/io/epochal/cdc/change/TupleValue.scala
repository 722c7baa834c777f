package io.epochal.cdc.change

import java.nio.ByteBuffer
import java.util.Arrays

import io.epochal.cdc.pgoutput.Bytes

/** A value in a tuple.
  *
  * @param kind
  *   'n': NULL, 'u': not sent, since an update left it alone; 't': as text; 'b': binary
  */
final private[cdc] case class TupleValue(kind: Byte, bytes: Bytes) {
  def isUnchanged: Boolean = kind == 'u'

  def sameAs(other: TupleValue): Boolean = kind == other.kind && Arrays.equals(
    bytes.array,
    bytes.offset,
    bytes.offset + bytes.length,
    other.bytes.array,
    other.bytes.offset,
    other.bytes.offset + other.bytes.length)
}

private[cdc] object TupleValue {

  def of(tuple: Bytes, column: Int): TupleValue = all(tuple).drop(column).next()

  /** Whether some values were not sent. */
  def isPartial(tuple: Bytes): Boolean = all(tuple).exists(_.isUnchanged)

  private def all(tuple: Bytes): Iterator[TupleValue] = {
    val in = ByteBuffer.wrap(tuple.array, tuple.offset, tuple.length)
    Iterator.fill(in.getShort().toInt) {
      val kind = in.get()
      if (kind == 'n' || kind == 'u') TupleValue(kind, Bytes(tuple.array, in.position(), 0))
      else {
        val length = in.getInt()
        val value = TupleValue(kind, Bytes(tuple.array, in.position(), length))
        in.position(in.position() + length): Unit
        value
      }
    }
  }
}
