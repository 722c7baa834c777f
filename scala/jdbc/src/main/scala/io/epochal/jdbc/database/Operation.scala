package io.epochal.jdbc.database

import org.apache.spark.unsafe.types.UTF8String

import io.epochal.kit.record.SourceColumn
import io.epochal.kit.sink.row.BadValue
import io.epochal.kit.spark.memory.{BinaryRow, Memory, UnsafeLayout}

/** Reads the operation of a row of `mode=changes`. Inserts and updates are the same: the row is stored by its key, so that
  * changes that arrive twice, or after a snapshot that includes them, leave the right rows.
  *
  * @param column
  *   None: every row is stored
  */
final private[jdbc] class Operation(column: Option[OperationColumn], columns: Seq[BoundColumn]) {
  import Operation._

  private val ordinal = column.fold(-1)(_.ordinal)
  private val feed = column.flatMap(_.feed)
  private val unchangedOrdinal = feed.flatMap(_.unchanged).getOrElse(-1)
  private val words = if (feed.isEmpty) Words else Words ++ FeedWords
  private val texts = words.map(_._1.getBytes("US-ASCII")).toArray
  private val effects = words.map(_._2).toArray
  private val storedNames = columns.map(column => SourceColumn.nameOf(column.field)).toSet

  /** The number of columns of encoded rows that follow those of the table. */
  val width: Int = column.fold(0)(_.names.size)

  /** The effect of a row.
    *
    * @throws BadValue
    *   it is NULL or an unknown word
    */
  def effect(row: BinaryRow): Int =
    if (ordinal < 0) Stores
    else if (row.isNullAt(ordinal)) throw new BadValue(ordinal, s"it is NULL, not $Expected")
    else {
      val base = row.base
      val address = row.address(ordinal)
      val length = row.length(ordinal)
      var i = 0
      while (i < texts.length && !is(texts(i), base, address, length)) i += 1
      if (i == texts.length) throw new BadValue(ordinal, unknownWord(base, address, length))
      effects(i)
    }

  /** Whether the row does not have all columns. */
  def isPartial(row: BinaryRow): Boolean = unchangedOrdinal >= 0 && !row.isNullAt(unchangedOrdinal)

  /** The version of a row of a feed, as encoded rows have it. */
  def version(row: BinaryRow, effect: Int): UTF8String = feed.map(_.version).filterNot(row.isNullAt) match {
    case Some(at) if effect < Compares => row.getUTF8String(at)
    case Some(at) if effect >= Corrects =>
      UTF8String.concat(FeedColumns.Compared, row.getUTF8String(at), FeedColumns.Corrected)
    case Some(at) => UTF8String.concat(mark(effect), row.getUTF8String(at))
    case None     => throw new BadValue(feed.fold(0)(_.version), BadValue.Missing)
  }

  /** The stored columns that the row does not have; null if it has all. */
  def unchangedColumns(row: BinaryRow): UTF8String =
    if (!isPartial(row)) null
    else {
      val (base, array) = (row.base, row.address(unchangedOrdinal))
      val size = UnsafeLayout.arraySize(base, array)
      val slots = UnsafeLayout.slotsOfArray(array, size)
      val names = (0 until size).map { i =>
        val slot = slots + i * 8L
        UTF8String
          .fromAddress(base, UnsafeLayout.address(base, array, slot), UnsafeLayout.length(base, slot))
          .toString
      }
      val marks = names.filter(storedNames).map(FeedColumns.mark)
      if (marks.isEmpty) null
      else UTF8String.fromString(marks.mkString(if (isInsert(row)) FeedColumns.Moved else "", "", ""))
    }

  private def isInsert(row: BinaryRow): Boolean = Inserts.exists { word =>
    is(word, row.base, row.address(ordinal), row.length(ordinal))
  }

  private def is(word: Array[Byte], base: AnyRef, address: Long, length: Int): Boolean =
    word.length == length && {
      var i = 0
      // This bit set makes a capital letter small, and turns no other byte of a word into one.
      while (i < length && (Memory.getByte(base, address + i) | 0x20) == (word(i) | 0x20)) i += 1
      i == length
    }

  private def unknownWord(base: AnyRef, address: Long, length: Int): String = {
    val text =
      UTF8String.fromAddress(base, address, math.min(length, LongestShown)).toString.replaceAll("\\p{Cntrl}", "?")
    s"it is '$text', not $Expected"
  }
}

private[jdbc] object Operation {

  /** The row is stored by its key. */
  final val Stores = 0

  /** The row of its key is deleted. */
  final val Deletes = 1

  /** All rows before it are deleted. */
  final val Empties = 2

  /** The last row of a comparison. */
  final val Ends = 3

  /** Added to the effect of a row that the table is only compared with. */
  final val Compares = 4

  /** Added to the effect of the row that has the lower bound, or the upper one, of the keys that are compared. */
  final val After = 8
  final val Until = 16

  /** Added to the effect of the last row of a comparison after which the table is corrected. */
  final val Corrects = 32

  private def mark(effect: Int): UTF8String =
    if (effect < After) FeedColumns.Compared else if (effect < Until) FeedColumns.After else FeedColumns.Until

  /** Whether NULL in a required column is a bad value. */
  def requires(effect: Int, identifies: Boolean, isPartial: Boolean): Boolean =
    effect < After && (identifies || !isPartial)

  /** The boolean of encoded rows. */
  def deletes(effect: Int): Boolean = (effect & Ends) == Deletes || (effect & Ends) == Empties

  /** Whether rows with an effect are sent without a column's value.
    *
    * @param identifies
    *   see [[BoundColumn]]
    */
  def omits(effect: Int, identifies: Boolean): Boolean =
    (effect & Ends) >= Empties || (effect & Ends) == Deletes && !identifies

  /** The accepted words, in lower case, and their effect. The short ones are Debezium's. */
  val Words: Seq[(String, Int)] =
    Seq("insert" -> Stores, "update" -> Stores, "delete" -> Deletes, "i" -> Stores, "c" -> Stores, "r" -> Stores) ++
      Seq("u" -> Stores, "d" -> Deletes)

  /** Those of a change feed alone. The image before an update deletes, unless the one after it has the same key. */
  val FeedWords: Seq[(String, Int)] =
    Seq("update_postimage" -> Stores, "update_preimage" -> Deletes, "truncate" -> Empties) ++
      (Seq("verify" -> Stores, "verify_update" -> Stores, "verify_delete" -> Deletes, "verify_begin" -> Empties) ++
        Seq("verify_after" -> (After | Deletes), "verify_until" -> (Until | Deletes), "verify_end" -> Ends) :+
        "verify_repair" -> (Corrects | Ends)).map { case (word, effect) => word -> (Compares | effect) }

  private val Inserts = Seq("insert", "verify").map(_.getBytes("US-ASCII"))
  private val Expected = "insert (i, c, r), update (u) or delete (d)"
  private val LongestShown = 40
}
