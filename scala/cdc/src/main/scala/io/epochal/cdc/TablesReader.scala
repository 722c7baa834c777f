package io.epochal.cdc

import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.cdc.value.RowReader
import io.epochal.kit.database.PostgresColumn
import io.epochal.kit.source.journal.Frames
import io.epochal.kit.spark.ArrayRow

/** Rows of several tables, as [[TypedRow]] describes them.
  *
  * @param catalog
  *   the columns of each table by its name
  * @param follows
  *   as in [[TypedReader]]
  */
final private class TablesReader(
    frames: Frames,
    catalog: Map[String, Seq[PostgresColumn]],
    columns: StructType,
    follows: Boolean)
    extends CdcReader(frames, columns, range = None) {
  import TablesReader.TableColumns

  private val name = place(TypedRow.Table.name)
  private val readers = new java.util.IdentityHashMap[Relation, TableColumns]
  private var frameDefinitions: IndexedSeq[Relation] = _
  private var current: TableColumns = _

  /** Changes of several tables alternate. */
  override protected def use(relation: Relation): Unit = {
    if (current != null && current.place >= 0) values(current.place) = null
    // Each frame has definitions of its own.
    if (definitions ne frameDefinitions) {
      readers.clear()
      frameDefinitions = definitions
    }
    current = readers.computeIfAbsent(relation, reader(_))
    sentColumns = current.sentColumns
  }

  private def reader(relation: Relation): TableColumns = {
    val at = place(relation.name)
    val struct = if (at < 0) StructType(Nil) else schema(at).dataType.asInstanceOf[StructType]
    val columns = catalog.getOrElse(relation.name, Nil)
    val isReadable = !follows || TypedReader.other(relation, columns, struct).isEmpty
    val rows = TypedReader.rowReader(relation, columns, struct, follows, within(relation.name, _))
    new TableColumns(at, relation, struct, rows, isReadable)
  }

  /** Not of a table that was dropped before the query was planned. */
  override protected def delivers: Boolean = catalog.contains(table.name) && current.isReadable

  /** The query's schema with other columns of a table. */
  private def within(table: String, columns: StructType): StructType =
    StructType(schema.map(field => if (field.name == table) field.copy(dataType = columns) else field))

  override protected def ofTable: (StructType, Array[Any]) = (current.struct, current.values)

  override protected def readOld(at: Int): Int = current.reader.tuple(buffer, at + 1, current.before)

  override protected def set(at: Int, change: UTF8String, completes: Boolean): Array[UTF8String] = {
    current.reader.tuple(buffer, at + 1, current.values): Unit
    if (completes) current.reader.complete(current.values, current.before)
    if (current.place >= 0) values(current.place) = current.row
    if (name >= 0) values(name) = current.table
    current.reader.unchanged
  }

  override protected def empty(change: UTF8String): Unit = {
    super.empty(change)
    if (name >= 0) values(name) = current.table
  }
}

private object TablesReader {

  /** The columns of one definition of a table.
    *
    * @param place
    *   of its column in the query's rows; -1: it is not needed
    */
  final class TableColumns(
      val place: Int,
      relation: Relation,
      val struct: StructType,
      val reader: RowReader,
      val isReadable: Boolean) {
    val table: UTF8String = UTF8String.fromString(relation.name)
    val values, before = new Array[Any](struct.length)
    val row = ArrayRow(values)
    val sentColumns: Set[UTF8String] = CdcReader.sentColumns(struct)
  }
}
