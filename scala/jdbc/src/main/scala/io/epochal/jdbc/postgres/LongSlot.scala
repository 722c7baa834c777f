package io.epochal.jdbc.postgres

import org.apache.spark.sql.types._

import io.epochal.kit.spark.memory.Memory

/** Reads any of Spark's integer types. */
private[postgres] trait LongSlot {
  def apply(base: AnyRef, slot: Long): Long
}

private[postgres] object LongSlot {
  def apply(dataType: DataType): LongSlot = dataType match {
    case ByteType    => (base, slot) => Memory.getByte(base, slot).toLong
    case ShortType   => (base, slot) => Memory.getShort(base, slot).toLong
    case IntegerType => (base, slot) => Memory.getInt(base, slot).toLong
    case _           => (base, slot) => Memory.getLong(base, slot)
  }
}
