package io.epochal.jdbc.postgres

import org.apache.spark.sql.types._

import io.epochal.kit.sink.row.ChunkedBytes
import io.epochal.kit.spark.memory.{Memory, UnsafeLayout}

/** Reads any of Spark's integer types. */
trait ReadLong {
  def apply(base: AnyRef, slot: Long): Long
}

object ReadLong {
  def apply(dataType: DataType): ReadLong = dataType match {
    case ByteType    => (base: AnyRef, slot: Long) => Memory.getByte(base, slot).toLong
    case ShortType   => (base: AnyRef, slot: Long) => Memory.getShort(base, slot).toLong
    case IntegerType => (base: AnyRef, slot: Long) => Memory.getInt(base, slot).toLong
    case _           => (base: AnyRef, slot: Long) => Memory.getLong(base, slot)
  }
}

private[postgres] trait ReadFloat {
  def apply(base: AnyRef, slot: Long): Float
}

private[postgres] trait ReadDouble {
  def apply(base: AnyRef, slot: Long): Double
}

final private class BooleanValue(column: Int) extends CopyValue(column) {
  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    out.reserve(5)
    out.putInt(1)
    out.putByte(if (Memory.getBoolean(base, slot)) 1 else 0)
  }
}

final private class Int2(column: Int, read: ReadLong) extends CopyValue(column) {
  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    out.reserve(6)
    out.putInt(2)
    out.putShort(read(base, slot).toInt)
  }
}

final private class Int4(column: Int, read: ReadLong) extends CopyValue(column) {
  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    out.reserve(8)
    out.putInt(4)
    out.putInt(read(base, slot).toInt)
  }
}

final private class Int8(column: Int, read: ReadLong) extends CopyValue(column) {
  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    out.reserve(12)
    out.putInt(8)
    out.putLong(read(base, slot))
  }
}

final private class Float4(column: Int, read: ReadFloat) extends CopyValue(column) {
  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    out.reserve(8)
    out.putInt(4)
    out.putInt(java.lang.Float.floatToIntBits(read(base, slot)))
  }
}

final private class Float8(column: Int, read: ReadDouble) extends CopyValue(column) {
  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    out.reserve(12)
    out.putInt(8)
    out.putLong(java.lang.Double.doubleToLongBits(read(base, slot)))
  }
}

final private class ByteaValue(column: Int) extends CopyValue(column) {
  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    val length = UnsafeLayout.length(base, slot)
    if (length > CopyValue.MaxBytes) refuse("it is longer than 1 GB")
    out.reserve(4 + length)
    out.putInt(length)
    out.putBytes(base, UnsafeLayout.address(base, origin, slot), length)
  }
}
