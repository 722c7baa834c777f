package io.epochal.jdbc.json

import java.nio.charset.StandardCharsets.UTF_8

import io.epochal.jdbc.database.BoundColumn
import io.epochal.jdbc.row.NulCharacter
import io.epochal.kit.sink.row.{BadValue, ChunkedBytes}
import io.epochal.kit.spark.memory.BinaryRow

/** A column of a row as a JSON text, for databases that keep it so. Belongs to one thread. */
final private[jdbc] class JsonColumn(bound: BoundColumn, nul: NulCharacter) {
  private val ordinal = bound.ordinal
  private val value = JsonValue(ordinal, bound.field.dataType, nul)
  private val out =
    new ChunkedBytes(1L << 30, () => throw new BadValue(ordinal, "as JSON it is longer than 1 GB"))

  /** Why the column has no JSON; null if it has. The value is not NULL. */
  def problem(row: BinaryRow): String =
    try {
      write(row)
      null
    } catch { case bad: BadValue => bad.reason }

  /** The value is not NULL.
    *
    * @throws BadValue
    *   when it has no form in JSON
    */
  def text(row: BinaryRow): String = {
    write(row)
    val (chunks, lengths) = out.contents
    if (chunks.length == 1) new String(chunks(0), 0, lengths(0), UTF_8)
    else {
      val whole = new java.io.ByteArrayOutputStream(out.size.toInt)
      chunks.indices.foreach(i => whole.write(chunks(i), 0, lengths(i)))
      whole.toString(UTF_8)
    }
  }

  private def write(row: BinaryRow): Unit = {
    out.clear()
    val origin = row.origin
    value.write(row.base, origin, row.slot(ordinal), out)
  }
}
