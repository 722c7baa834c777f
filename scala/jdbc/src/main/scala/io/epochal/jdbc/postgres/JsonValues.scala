package io.epochal.jdbc.postgres

import org.apache.spark.sql.types.DataType

import io.epochal.jdbc.json.{JsonValue, StoredJson}
import io.epochal.jdbc.row.NulCharacter
import io.epochal.kit.sink.row.ChunkedBytes
import io.epochal.kit.spark.memory.UnsafeLayout

/** A text that is JSON. In jsonb a version (1) goes before it. */
final private class JsonText(column: Int, isBinary: Boolean, nul: NulCharacter) extends CopyValue(column) {
  private val json = new StoredJson(nul)

  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    val problem = json.take(base, UnsafeLayout.address(base, origin, slot), UnsafeLayout.length(base, slot))
    if (problem != null) refuse(problem)
    out.reserve(5 + json.length)
    out.putInt(json.length + (if (isBinary) 1 else 0))
    if (isBinary) out.putByte(1)
    out.putBytes(json.base, json.address, json.length)
  }
}

/** A struct, map, array or variant as JSON. */
final private class JsonTree(column: Int, from: DataType, isBinary: Boolean, nul: NulCharacter)
    extends CopyValue(column) {
  private val value = JsonValue(column, from, nul)
  private val json = new ChunkedBytes(MaxBytes, () => refuse(s"as JSON it is longer than $MaxBytes bytes"))

  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    json.clear()
    value.write(base, origin, slot, json)
    out.reserve(5)
    out.putInt(json.size.toInt + (if (isBinary) 1 else 0))
    if (isBinary) out.putByte(1)
    json.copyTo(out)
  }

  /** All texts of one jsonb together have 256 MB at the most. */
  private def MaxBytes = 255L << 20
}
