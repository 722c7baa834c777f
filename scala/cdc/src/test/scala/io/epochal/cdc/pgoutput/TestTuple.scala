package io.epochal.cdc.pgoutput

import java.io.{ByteArrayOutputStream, DataOutputStream}
import java.nio.charset.StandardCharsets.UTF_8

/** A tuple as the server sends it (TupleData). */
object TestTuple {

  /** Stands for a value that the server leaves out. */
  case object Unsent

  /** @param values
    *   null for NULL, [[Unsent]], bytes for a binary value; of all others the text
    */
  def of(values: Any*): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    val out = new DataOutputStream(bytes)
    def put(kind: Char, value: Array[Byte]): Unit = {
      out.writeByte(kind.toInt)
      out.writeInt(value.length)
      out.write(value)
    }
    out.writeShort(values.size)
    values.foreach {
      case null                => out.writeByte('n'.toInt)
      case Unsent              => out.writeByte('u'.toInt)
      case binary: Array[Byte] => put('b', binary)
      case other               => put('t', other.toString.getBytes(UTF_8))
    }
    bytes.toByteArray
  }
}
