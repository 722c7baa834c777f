package io.epochal.cdc.value

import scala.collection.mutable

import org.apache.spark.sql.catalyst.util.ArrayData
import org.postgresql.util.ByteConverter

/** Arrays of one dimension. Their lower bounds are dropped.
  *
  * Binary form:
  *
  * {{{
  *   int32 dimensions (0: it is empty), int32 flags, int32 OID of the elements' type, then int32 size and int32 lower bound of
  *   each dimension, then the elements: int32 length (-1: NULL), value
  * }}}
  */
final private class ArrayReader(element: ValueReader, delimiter: Char) extends ValueReader {
  private val literal = new Literal(delimiter, '}')
  private val elements = mutable.ArrayBuffer.empty[Any]

  override def hasBinary: Boolean = element.hasBinary

  override def binary(bytes: Array[Byte], offset: Int, length: Int): Any = {
    val dimensions = ByteConverter.int4(bytes, offset)
    if (dimensions > 1) refuseNested()
    val values = new Array[Any](if (dimensions == 0) 0 else ByteConverter.int4(bytes, offset + 12))
    var at = offset + 20
    var i = 0
    while (i < values.length) {
      val size = ByteConverter.int4(bytes, at)
      at += 4
      if (size >= 0) {
        values(i) = element.binary(bytes, at, size)
        at += size
      }
      i += 1
    }
    ArrayData.toArrayData(values)
  }

  override def text(bytes: Array[Byte], offset: Int, length: Int): Any = {
    elements.clear()
    literal.startArray(bytes, offset)
    while (literal.next()) {
      if (literal.isNested) refuseNested()
      literal.read()
      elements += (if (literal.isNull) null else element.text(literal.value, literal.from, literal.length))
    }
    ArrayData.toArrayData(elements.toArray[Any])
  }

  private def refuseNested(): Nothing = throw new UnreadableValue("it is an array of more than one dimension")
}
