package io.epochal.rest.sink

import java.util.Locale

import org.apache.spark.sql.catalyst.util.ArrayData

import io.epochal.kit.record.SourceColumn
import io.epochal.kit.spark.memory.BinaryRow

/** Reads what a row does, for one task. */
final private[rest] class ChangeReader(shape: ChangeShape) {
  import ChangeReader._
  import shape.operation

  /** @throws UnsendableRow
    *   the operation is NULL or unknown
    */
  def read(row: BinaryRow): RowEffect = {
    val word = if (row.isNullAt(operation.ordinal)) None else Some(row.getUTF8String(operation.ordinal).toString)
    word.flatMap(text => Words.get(text.toLowerCase(Locale.ROOT))).getOrElse {
      val display = word.fold("NULL")(text => s"'${text.take(LongestShown)}'")
      throw new UnsendableRow(
        s"its '${operation.field.name}' is $display, not insert (i, c, r), update (u) or delete (d)")
    }
  }

  /** The columns that the row does not have: it is an update that did not change them.
    *
    * @throws UnsendableRow
    *   the update changed the key: only the row of the old key has these values
    */
  def unchangedColumns(row: BinaryRow): Set[String] =
    shape.unchangedList.filterNot(column => row.isNullAt(column.ordinal)).fold(Set.empty[String]) { column =>
      val names = row.get(column.ordinal, column.field.dataType) match {
        case names: ArrayData => (0 until names.numElements()).map(names.getUTF8String(_).toString).toSet
        case _                => Set.empty[String]
      }
      val columns = shape.record.map(_.field).filter(field => names(SourceColumn.nameOf(field))).map(_.name).toSet
      if (columns.nonEmpty && row.getUTF8String(operation.ordinal).toString.equalsIgnoreCase("insert"))
        throw new UnsendableRow(
          s"an update changed its key, and the server left out its unchanged value of ${columns.toSeq.sorted.mkString(", ")}")
      columns
    }
}

private object ChangeReader {
  import RowEffect._

  /** The short words are Debezium's. */
  private val Words: Map[String, RowEffect] =
    (Seq("insert", "update", "update_postimage", "i", "c", "r", "u").map(_ -> Stores) ++
      Seq("delete" -> Deletes, "d" -> Deletes, "update_preimage" -> Ignores)).toMap

  private val LongestShown = 40
}
