package io.epochal.rest.sink

import java.util.{Arrays => JavaArrays}

/** The rows of the next request. Belongs to one task and is reused.
  *
  * @param keepWhole
  *   whether whole rows are kept, for dead letters
  */
final private[rest] class RequestBatch(keepWhole: Boolean) {
  private val slices = new Slices
  private val keys = new Slices
  private val whole = new Slices

  private var places = new Array[Long](16)
  private val deletions = new java.util.BitSet

  /** A row's position in its partition, from 0. */
  def place(row: Int): Long = places(row)

  def deletes(row: Int): Boolean = deletions.get(row)

  def rows: Int = slices.count

  def bytes: Int = slices.bytes.length

  /** Adds the row that was encoded last. */
  def add(row: JsonRowEncoder, place: Long, deletes: Boolean): Unit = {
    if (rows == places.length) places = JavaArrays.copyOf(places, rows * 2)
    places(rows) = place
    deletions.set(rows, deletes)
    slices.add(row.sentRow)
    keys.add(row.key)
    if (keepWhole && (row.whole ne row.sentRow)) whole.add(row.whole)
  }

  def clear(): Unit = {
    slices.clear()
    keys.clear()
    whole.clear()
  }

  def wholeRow(row: Int): String = if (whole.count > 0) whole.text(row) else slices.text(row)

  /** A request body of the chosen rows, in their order. */
  def body(form: RequestBody, key: String, rows: Array[Int]): Array[Byte] = {
    val (head, tail) = (form.head(key), form.tail(key))
    val size = rows.foldLeft(head.length + tail.length + form.between.length.toLong * (rows.length - 1)) { (sum, row) =>
      sum + slices.end(row) - slices.start(row)
    }
    val out = new Array[Byte](Math.toIntExact(size))
    System.arraycopy(head, 0, out, 0, head.length)
    var at = head.length
    var i = 0
    while (i < rows.length) {
      if (i > 0) {
        System.arraycopy(form.between, 0, out, at, form.between.length)
        at += form.between.length
      }
      at = slices.bytes.copyTo(out, at, slices.start(rows(i)), slices.end(rows(i)))
      i += 1
    }
    System.arraycopy(tail, 0, out, at, tail.length)
    out
  }

  /** The idempotency key of all rows together. */
  def keyByPlace(head: Array[Byte]): String = {
    val name = IdempotencyKey.digest(head)
    name.update('\n'.toByte)
    slices.bytes.digest(name, 0, slices.bytes.length)
    IdempotencyKey.of(name)
  }

  def keyByColumns(head: Array[Byte]): String = {
    val name = IdempotencyKey.digest(head)
    (0 until rows).foreach { row =>
      name.update('\n'.toByte)
      keys.bytes.digest(name, keys.start(row), keys.end(row))
    }
    IdempotencyKey.of(name)
  }
}

/** Texts, concatenated in one array. */
final private class Slices {
  val bytes = new Utf8Bytes
  private var ends = new Array[Int](16)
  var count = 0

  def add(text: Utf8Bytes): Unit = {
    bytes.put(text, 0, text.length)
    if (count == ends.length) ends = JavaArrays.copyOf(ends, count * 2)
    ends(count) = bytes.length
    count += 1
  }

  def clear(): Unit = {
    bytes.truncate(0)
    count = 0
  }

  def start(i: Int): Int = if (i == 0) 0 else ends(i - 1)
  def end(i: Int): Int = ends(i)
  def text(i: Int): String = bytes.text(start(i), end(i))
}
