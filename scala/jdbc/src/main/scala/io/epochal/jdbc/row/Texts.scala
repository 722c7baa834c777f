package io.epochal.jdbc.row

import org.apache.spark.sql.types.{CharType, DataType, StringType, VarcharType}
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.kit.spark.memory.Memory

/** Checks whether a text can be stored unchanged: databases reject or misread the NUL character and broken UTF-8. */
private[jdbc] object Texts {

  /** Whether values of the type are texts. */
  def is(dataType: DataType): Boolean = dataType match {
    case _: StringType | _: CharType | _: VarcharType => true
    case _                                            => false
  }

  def nulAt(index: Int): String =
    s"it has the NUL character (\\u0000) as byte ${index + 1}, which the database cannot keep in a text; set {option:nulCharacter} to strip or replace it"

  /** Whether all bytes are in 1 to 127. Checks eight bytes at a time. */
  def isPlain(base: AnyRef, address: Long, length: Int): Boolean = {
    var i = 0
    var high = 0L
    while (i <= length - 8) {
      val word = Memory.getLong(base, address + i)
      // Subtracting borrows into the highest bit of a 0 byte; a byte above 127 has it set already.
      high |= (word - 0x0101010101010101L) | word
      i += 8
    }
    while (i < length) {
      val byte = Memory.getByte(base, address + i)
      high |= (byte - 1L) | byte
      i += 1
    }
    (high & 0x8080808080808080L) == 0
  }

  /** Why a text is not UTF-8; null if it is. */
  def encoding(base: AnyRef, address: Long, length: Int): String =
    if (UTF8String.fromAddress(base, address, length).isValid) null else "it is not valid UTF-8"

  /** Offset of the first invalid byte; -1 if there is none. */
  def indexOfNul(base: AnyRef, address: Long, length: Int): Int = {
    var i = 0
    while (i < length && Memory.getByte(base, address + i) != 0) i += 1
    if (i < length) i else -1
  }
}
