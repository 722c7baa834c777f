package io.epochal.cdc.value

import java.io.ByteArrayOutputStream

import org.apache.spark.unsafe.types.UTF8String
import org.postgresql.util.ByteConverter

import io.epochal.core.error.Conditions
import io.epochal.kit.database.PostgresType

/** Writes rows of a table, from pgoutput's TupleData in text form, as JSON: the text of `row_to_json`, which is the value of
  * `to_jsonb`. Columns that an update left alone, and the server did not send, are left out. One thread at a time.
  *
  * @param columns
  *   those that the server sends, in its order: name, whether it belongs to the replica identity, and type
  */
final private[cdc] class RowJson(name: String, columns: Seq[(String, Boolean, PostgresType)]) {
  val table: UTF8String = UTF8String.fromString(name)
  private val names = columns.map(column => UTF8String.fromString(column._1)).toArray
  private val labels = columns.map(column => JsonForm.quoted(column._1)).toArray
  private val isIdentity = columns.map(_._2).toArray
  private val forms = columns.map(column => JsonForm(column._3)).toArray
  private val newRow, oldRow = new RowJson.Tuple(columns.size, name)
  private val out = new ByteArrayOutputStream

  /** Reads the row before a change; returns the offset behind it. The bytes must not change before the row is written. */
  def readBefore(bytes: Array[Byte], offset: Int): Int = oldRow.read(bytes, offset)

  def readRow(bytes: Array[Byte], offset: Int): Unit = newRow.read(bytes, offset): Unit

  /** Completes the new row with the values of the row before it. */
  def complete(): Unit = newRow.complete(oldRow)

  /** The names of the new row's columns that are left out; null if there are none. */
  def unchanged: Array[UTF8String] = {
    val places = names.indices.filter(newRow.isUnchanged(_))
    if (places.isEmpty) null else places.map(names(_)).toArray
  }

  def after: UTF8String = write(newRow, isWhole = true)

  def identity: UTF8String = write(newRow, isWhole = false)

  /** The row before a change, or its replica identity. */
  def before(isWhole: Boolean): UTF8String = write(oldRow, isWhole)

  private def write(tuple: RowJson.Tuple, isWhole: Boolean): UTF8String = {
    out.reset()
    var separator = '{'
    var i = 0
    while (i < labels.length) {
      if ((isWhole || isIdentity(i)) && !tuple.isUnchanged(i)) {
        out.write(separator.toInt)
        separator = ','
        out.writeBytes(labels(i))
        out.write(':'.toInt)
        value(tuple, i)
      }
      i += 1
    }
    if (separator == '{') out.write('{'.toInt)
    out.write('}'.toInt)
    UTF8String.fromBytes(out.toByteArray)
  }

  private def value(tuple: RowJson.Tuple, i: Int): Unit =
    if (tuple.isNull(i)) out.writeBytes(JsonForm.Null)
    else
      try forms(i).write(tuple.bytes(i), tuple.at(i), tuple.lengths(i), out)
      catch {
        case value: UnreadableValue =>
          throw Conditions.ValueUnsupported(
            "table" -> name,
            "column" -> columns(i)._1,
            "columnType" -> columns(i)._3.declaration,
            "sparkType" -> "JSON",
            "reason" -> value.reason,
            "instruction" -> value.instruction.getOrElse("Leave it out of the publication"))
      }
}

private object RowJson {

  /** Where the values of a TupleData are. */
  final class Tuple(size: Int, table: String) {
    private val kinds = new Array[Byte](size)
    val bytes = new Array[Array[Byte]](size)
    val at, lengths = new Array[Int](size)

    def isUnchanged(i: Int): Boolean = kinds(i) == 'u'
    def isNull(i: Int): Boolean = kinds(i) == 'n'

    def read(from: Array[Byte], offset: Int): Int = {
      val count = ByteConverter.int2(from, offset).toInt
      if (count != size)
        throw new IllegalStateException(s"a row of $table has $count values, but $size columns were announced")
      var next = offset + 2
      var i = 0
      while (i < size) {
        kinds(i) = from(next)
        next += 1
        if (!isUnchanged(i) && !isNull(i)) {
          bytes(i) = from
          lengths(i) = ByteConverter.int4(from, next)
          at(i) = next + 4
          next = at(i) + lengths(i)
        }
        i += 1
      }
      next
    }

    /** Fills values that were left out, which are never NULL, from another tuple. */
    def complete(other: Tuple): Unit = kinds.indices.filter(i => isUnchanged(i) && !other.isNull(i)).foreach { i =>
      kinds(i) = other.kinds(i)
      bytes(i) = other.bytes(i)
      at(i) = other.at(i)
      lengths(i) = other.lengths(i)
    }
  }
}
