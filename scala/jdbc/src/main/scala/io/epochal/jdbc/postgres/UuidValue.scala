package io.epochal.jdbc.postgres

import io.epochal.kit.sink.row.ChunkedBytes
import io.epochal.kit.spark.memory.{Memory, UnsafeLayout}

/** A UUID: 32 hexadecimal digits in PostgreSQL's syntax, with optional hyphens after every four and optional braces. */
final private class UuidValue(column: Int) extends CheckedValue(column) {

  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    val address = UnsafeLayout.address(base, origin, slot)
    val length = UnsafeLayout.length(base, slot)
    val inBraces = length > 2 && byte(base, address) == '{' && byte(base, address + length - 1) == '}'
    val end = if (inBraces) length - 1 else length
    var i = if (inBraces) 1 else 0
    var high = 0L
    var low = 0L
    var digits = 0
    while (i < end && digits < 32) {
      val c = byte(base, address + i)
      if (c == '-') {
        val mayStand = digits > 0 && digits % 4 == 0 && byte(base, address + i - 1) != '-'
        if (!mayStand) bad()
      } else {
        val digit = Character.digit(c, 16)
        if (digit < 0) bad()
        high = (high << 4) | (low >>> 60)
        low = (low << 4) | digit
        digits += 1
      }
      i += 1
    }
    if (digits < 32 || i < end) bad()
    CopyValue.begin(out, 16).putLong(high)
    out.putLong(low)
  }

  private def byte(base: AnyRef, at: Long): Int = Memory.getByte(base, at).toInt

  private def bad(): Nothing = refuse("it is not a UUID")
}
