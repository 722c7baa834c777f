package io.epochal.jdbc.insert

import io.epochal.jdbc.database.{BoundColumn, BoundTable, Operation}
import io.epochal.jdbc.row.NulCharacter
import io.epochal.kit.sink.row.{BadValue, ChunkedBytes, EncodedRows, RowEncoder, RowFormat}
import io.epochal.kit.spark.memory.{BinaryRow, Memory}

/** Spark's own row bytes: `int64 length, bytes`, one after the other; a row lies in one chunk.
  *
  * The driver binds them to statements ([[InsertBatches]]). Bad values are found in the task, where the row is known.
  *
  * @param operation
  *   place in the query's rows of what says what a row does; of a row that deletes only what finds and orders it counts
  */
final case class RowBytes(columns: Seq[BoundColumn], operation: Option[Int], nul: NulCharacter, rules: ValueRules)
    extends RowFormat {
  override def encoder(out: ChunkedBytes): RowEncoder =
    new RowBytesEncoder(columns.map(new ColumnCheck(_, nul, rules)).toArray, operation.getOrElse(-1), out)
}

object RowBytes {
  def apply(table: BoundTable, rules: ValueRules): RowBytes =
    RowBytes(table.columns, table.operation.map(_.ordinal), table.nulCharacter, rules)
}

final private class RowBytesEncoder(checks: Array[ColumnCheck], operation: Int, out: ChunkedBytes) extends RowEncoder {
  override def encode(row: BinaryRow): Unit = {
    val deletes = operation >= 0 && Operation.deletes(row, operation)
    var i = 0
    while (i < checks.length) {
      if (!deletes || checks(i).identifies) checks(i)(row)
      i += 1
    }
    val length = row.sizeInBytes
    out.reserve(8 + length)
    out.putLong(length.toLong)
    out.putBytes(row.base, row.origin, length)
  }
}

final private class ColumnCheck(bound: BoundColumn, nul: NulCharacter, rules: ValueRules) {
  private val ordinal = bound.ordinal
  val identifies: Boolean = bound.identifies
  private val check = rules.check(bound, nul).orNull

  def apply(row: BinaryRow): Unit =
    if (row.isNullAt(ordinal)) {
      if (bound.required) throw new BadValue(ordinal, BadValue.Missing)
    } else if (check != null) {
      val problem = check.problem(row, ordinal)
      if (problem != null) throw new BadValue(ordinal, problem)
    }
}

/** Reads what [[RowBytes]] wrote: `row` points at one row after the other, of those that were gathered. */
final private[insert] class RowBytesReader(rows: EncodedRows, columns: Int) {
  private val chunks = rows.chunks.iterator
  private var chunk = Array.emptyByteArray
  private var end = 0
  private var position = 0

  // Rows that were gathered: the chunks they lie in, and where.
  private var held = new Array[Array[Byte]](16)
  private var places = new Array[Int](16)
  private var count = 0
  private var bound = 0
  val row: BinaryRow = BinaryRow.empty(columns)

  /** Finds the rows that follow: no more than `most`, and no more bytes than `maxBytes` unless it is one row. */
  def gather(most: Int, maxBytes: Long): Int = {
    count = 0
    bound = 0
    var bytes = 0L
    var full = false
    while (!full && count < most && advance()) {
      val length = lengthAt(chunk, position)
      bytes += length
      full = count > 0 && bytes > maxBytes
      if (!full) {
        hold()
        position += 8 + length
      }
    }
    count
  }

  /** Points `row` at the next of them. */
  def next(): Unit = {
    val (bytes, place) = (held(bound), places(bound))
    row.pointTo(bytes, place + 8, lengthAt(bytes, place))
    bound += 1
  }

  /** Bytes of `row`, twice those that MySQL's texts escape. */
  def escapedBytes: Long = {
    val (bytes, place) = (held(bound - 1), places(bound - 1))
    val length = lengthAt(bytes, place)
    length.toLong + (place + 8 until place + 8 + length).count(i => Escaped(bytes(i)))
  }

  private val Escaped = Set[Byte]('\'', '"', '\\', 0, 0x1a)

  private def hold(): Unit = {
    if (count == held.length) {
      held = java.util.Arrays.copyOf(held, count * 2)
      places = java.util.Arrays.copyOf(places, count * 2)
    }
    held(count) = chunk
    places(count) = position
    count += 1
  }

  /** Whether there is a row where `position` is. */
  private def advance(): Boolean = {
    while (position == end && chunks.hasNext) {
      val (bytes, length) = chunks.next()
      chunk = bytes
      end = length
      position = 0
    }
    position < end
  }

  private def lengthAt(bytes: Array[Byte], place: Int): Int =
    java.lang.Long.reverseBytes(Memory.getLong(bytes, Memory.ARRAY_START + place)).toInt
}
