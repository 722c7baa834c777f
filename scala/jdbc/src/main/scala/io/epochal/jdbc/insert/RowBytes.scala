package io.epochal.jdbc.insert

import io.epochal.jdbc.database.{BoundColumn, BoundTable, Operation}
import io.epochal.jdbc.row.NulCharacter
import io.epochal.kit.sink.row.{BadValue, ChunkedBytes, RowEncoder, RowFormat}
import io.epochal.kit.spark.memory.BinaryRow

/** Spark's own row bytes: `int64 length, bytes` for each row; a row never crosses a chunk boundary.
  *
  * The driver binds them to statements ([[InsertBatches]]). Tasks find bad values, where the row is known.
  * Of a row that deletes only key and order columns are checked.
  */
final case class RowBytes(table: BoundTable, rules: ValueRules) extends RowFormat {
  override def encoder(out: ChunkedBytes): RowEncoder = {
    val checks = table.columns.map(new ColumnCheck(_, table.nulCharacter, rules)).toArray
    new RowBytesEncoder(checks, new Operation(table.operation, table.columns), out)
  }
}

final private class RowBytesEncoder(checks: Array[ColumnCheck], operation: Operation, out: ChunkedBytes)
    extends RowEncoder {
  override def encode(row: BinaryRow): Unit = {
    val effect = operation.effect(row)
    val isPartial = operation.isPartial(row)
    var i = 0
    while (i < checks.length) {
      if (!Operation.omits(effect, checks(i).identifies))
        checks(i)(row, Operation.requires(effect, checks(i).identifies, isPartial))
      i += 1
    }
    if (operation.width > 1) operation.version(row, effect): Unit
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

  def apply(row: BinaryRow, isRequired: Boolean): Unit =
    if (row.isNullAt(ordinal)) {
      if (bound.required && isRequired) throw new BadValue(ordinal, BadValue.Missing)
    } else if (check != null) {
      val problem = check.problem(row, ordinal)
      if (problem != null) throw new BadValue(ordinal, problem)
    }
}
