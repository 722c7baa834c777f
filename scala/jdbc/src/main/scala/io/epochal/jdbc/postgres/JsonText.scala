package io.epochal.jdbc.postgres

import org.apache.spark.sql.types.DataType

import io.epochal.jdbc.json.{JsonValue, StoredJson}
import io.epochal.jdbc.row.{CharacterSet, NulCharacter}
import io.epochal.kit.sink.row.ChunkedBytes
import io.epochal.kit.spark.memory.{Memory, UnsafeLayout}

/** A JSON text. In jsonb a version byte (1) precedes it. */
final private class JsonText(column: Int, isBinary: Boolean, nul: NulCharacter, characters: CharacterSet)
    extends CheckedValue(column) {
  private val json = new StoredJson(nul)

  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    val problem = json.take(base, UnsafeLayout.address(base, origin, slot), UnsafeLayout.length(base, slot))
    if (problem != null) refuse(problem)
    if (characters != null) check()
    out.reserve(5 + json.length)
    out.putInt(json.length + (if (isBinary) 1 else 0))
    if (isBinary) out.putByte(1)
    out.putBytes(json.base, json.address, json.length)
  }

  /** Only jsonb decodes escapes. */
  private def check(): Unit = {
    val lacking = characters.problem(json.base, json.address, json.length)
    val problem =
      if (lacking != null || !isBinary) lacking
      else characters.escapeProblem(json.base.asInstanceOf[Array[Byte]], json.address, json.length)
    if (problem != null) refuse(problem)
  }
}

/** A struct, map, array or variant as JSON. */
final private class JsonTree(
    column: Int,
    from: DataType,
    isBinary: Boolean,
    nul: NulCharacter,
    characters: CharacterSet)
    extends CheckedValue(column) {
  private val value = JsonValue(column, from, nul)
  private val json = new ChunkedBytes(MaxBytes, () => refuse(s"as JSON it is longer than $MaxBytes bytes"))

  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    json.clear()
    value.write(base, origin, slot, json)
    if (characters != null) check()
    out.reserve(5)
    out.putInt(json.size.toInt + (if (isBinary) 1 else 0))
    if (isBinary) out.putByte(1)
    json.copyTo(out)
  }

  /** Its escapes are ASCII. */
  private def check(): Unit = {
    val (chunks, lengths) = json.contents
    chunks.indices.foreach { i =>
      val problem = characters.problem(chunks(i), Memory.ARRAY_START, lengths(i))
      if (problem != null) refuse(s"as JSON, $problem")
    }
  }

  /** Limit on all texts of one jsonb value together: 256 MB. */
  private def MaxBytes = 255L << 20
}
