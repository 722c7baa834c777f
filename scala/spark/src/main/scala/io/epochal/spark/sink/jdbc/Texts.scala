package io.epochal.spark.sink.jdbc

import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/** Whether a text can be stored as it is: databases refuse or misread the NUL character and broken UTF-8 (K9). */
private[jdbc] object Texts {

  /** Why not; null for a good text, since this runs for every value. */
  def problem(base: AnyRef, address: Long, length: Int): String =
    if (isPlain(base, address, length)) null else inspect(base, address, length)

  /** Whether all bytes are from 1 to 127: eight at a time, without a look at each. */
  private def isPlain(base: AnyRef, address: Long, length: Int): Boolean = {
    var i = 0
    var high = 0L
    while (i <= length - 8) {
      val word = Platform.getLong(base, address + i)
      // A byte of 0 borrows into its highest bit; a byte above 127 has it set already.
      high |= (word - 0x0101010101010101L) | word
      i += 8
    }
    while (i < length) {
      val byte = Platform.getByte(base, address + i)
      high |= (byte - 1L) | byte
      i += 1
    }
    (high & 0x8080808080808080L) == 0
  }

  private def inspect(base: AnyRef, address: Long, length: Int): String = {
    var i = 0
    while (i < length && Platform.getByte(base, address + i) != 0) i += 1
    if (i < length)
      s"it has the NUL character (\\u0000) as byte ${i + 1}, which the database cannot keep in a text; take it out with replace()"
    else if (!UTF8String.fromAddress(base, address, length).isValid) "it is not valid UTF-8"
    else null
  }
}
