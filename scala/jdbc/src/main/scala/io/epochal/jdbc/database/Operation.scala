package io.epochal.jdbc.database

import org.apache.spark.unsafe.types.UTF8String

import io.epochal.kit.sink.row.BadValue
import io.epochal.kit.spark.memory.{BinaryRow, Memory}

/** Reads what a row of `mode=changes` does. A row that inserts and one that updates are the same to us: stored by its key,
  * so that changes that come twice, or after a snapshot that has them, leave the right rows.
  */
private[jdbc] object Operation {

  /** The words, in lower case: `true` deletes. The short ones are Debezium's. */
  val Words: Seq[(String, Boolean)] =
    Seq("insert" -> false, "update" -> false, "delete" -> true, "i" -> false, "c" -> false, "r" -> false) ++
      Seq("u" -> false, "d" -> true)

  private val texts: Array[Array[Byte]] = Words.map(_._1.getBytes("US-ASCII")).toArray
  private val deleting: Array[Boolean] = Words.map(_._2).toArray

  /** Whether the row deletes.
    *
    * @throws BadValue
    *   it is NULL or another word
    */
  def deletes(row: BinaryRow, ordinal: Int): Boolean = {
    if (row.isNullAt(ordinal)) throw new BadValue(ordinal, "it is NULL, not insert (i, c, r), update (u) or delete (d)")
    val base = row.base
    val address = row.address(ordinal)
    val length = row.length(ordinal)
    var i = 0
    while (i < texts.length && !is(texts(i), base, address, length)) i += 1
    if (i == texts.length) throw new BadValue(ordinal, unknown(base, address, length))
    deleting(i)
  }

  private def is(word: Array[Byte], base: AnyRef, address: Long, length: Int): Boolean =
    word.length == length && {
      var i = 0
      // With this bit set a capital letter is the small one, and nothing else becomes a small letter.
      while (i < length && (Memory.getByte(base, address + i) | 0x20) == word(i)) i += 1
      i == length
    }

  private def unknown(base: AnyRef, address: Long, length: Int): String = {
    val text =
      UTF8String.fromAddress(base, address, math.min(length, LongestShown)).toString.replaceAll("\\p{Cntrl}", "?")
    s"it is '$text', not insert (i, c, r), update (u) or delete (d)"
  }

  private val LongestShown = 40
}
