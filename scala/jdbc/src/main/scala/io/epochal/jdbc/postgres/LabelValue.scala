package io.epochal.jdbc.postgres

import io.epochal.kit.sink.row.ChunkedBytes
import io.epochal.kit.spark.memory.{Memory, UnsafeLayout}

/** One of the labels of an enum. */
final private class LabelValue(column: Int, labels: Seq[String]) extends CheckedValue(column) {
  private val labelBytes = labels.map(_.getBytes("UTF-8")).toArray

  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    val address = UnsafeLayout.address(base, origin, slot)
    val length = UnsafeLayout.length(base, slot)
    var i = 0
    while (i < labelBytes.length && !isAt(labelBytes(i), base, address, length)) i += 1
    if (i == labelBytes.length) refuse(s"it is none of the enum's labels (${labels.take(10).mkString(", ")}$more)")
    CopyValue.begin(out, length).putBytes(base, address, length)
  }

  private def isAt(label: Array[Byte], base: AnyRef, address: Long, length: Int): Boolean =
    label.length == length &&
      Memory.isEqual(base, address, label, Memory.ARRAY_START, length.toLong)

  private def more: String = if (labels.size > 10) ", …" else ""
}
