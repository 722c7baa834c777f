package io.epochal.jdbc.postgres

import org.apache.spark.unsafe.types.UTF8String

import io.epochal.jdbc.row.{CharacterSet, NulCharacter, StoredText, Texts}
import io.epochal.kit.sink.row.ChunkedBytes
import io.epochal.kit.spark.memory.UnsafeLayout

/** A text column: the bytes unchanged. */
final private class TextValue(column: Int, maxChars: Int, maxBytes: Int, nul: NulCharacter, characters: CharacterSet)
    extends CheckedValue(column) {
  private val text = new StoredText(nul, characters)

  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    val address = UnsafeLayout.address(base, origin, slot)
    val length = UnsafeLayout.length(base, slot)
    if (Texts.isPlain(base, address, length)) {
      if (length > maxChars) tooManyChars()
      put(base, address, length, out)
    } else {
      val problem = text.take(base, address, length)
      if (problem != null) refuse(problem)
      if (text.length > maxChars && UTF8String.fromAddress(text.base, text.address, text.length).numChars() > maxChars)
        tooManyChars()
      put(text.base, text.address, text.length, out)
    }
  }

  private def put(base: AnyRef, address: Long, length: Int, out: ChunkedBytes): Unit = {
    if (length > maxBytes) refuse(s"it has more than $maxBytes bytes")
    CopyValue.begin(out, length).putBytes(base, address, length)
  }

  private def tooManyChars(): Nothing = refuse(s"it has more than $maxChars characters")
}
