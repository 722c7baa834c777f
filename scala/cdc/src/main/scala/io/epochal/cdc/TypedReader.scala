package io.epochal.cdc

import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.cdc.pgoutput.RelationColumn
import io.epochal.cdc.value.RowReader
import io.epochal.core.error.Conditions
import io.epochal.kit.database.{PostgresColumn, PostgresType}
import io.epochal.kit.source.journal.Frames

/** Rows with the columns of the table. */
final private class TypedReader(
    frames: Frames,
    catalog: Seq[PostgresColumn],
    columns: StructType,
    range: Option[CommitRange] = None)
    extends CdcReader(frames, columns, range) {
  private val before = new Array[Any](schema.length)
  private var reader: RowReader = _

  override protected def use(relation: Relation): Unit = reader = TypedReader.rowReader(relation, catalog, schema)

  override protected def readOld(at: Int): Int = reader.tuple(buffer, at + 1, before)

  override protected def set(at: Int, change: UTF8String, completes: Boolean): Array[UTF8String] = {
    reader.tuple(buffer, at + 1, values): Unit
    if (completes) reader.complete(values, before)
    reader.unchanged
  }
}

private object TypedReader {

  /** Stands for a column that is not read. */
  private val Unread = PostgresColumn("", -1, PostgresType("text", -1, "text"))
  private val Texts = Set(RelationColumn.Text, RelationColumn.Varchar)

  /** @param catalog
    *   the table's columns as they were when the query was planned
    * @param whole
    *   the schema to declare for given columns of the table
    */
  def rowReader(
      relation: Relation,
      catalog: Seq[PostgresColumn],
      schema: StructType,
      whole: StructType => StructType = identity): RowReader = {
    val layout = relation.columns.map { column =>
      catalog.find(one => one.name == column.name && isSame(one.kind.oid.toInt, column.typeOid)).getOrElse {
        if (schema.fieldNames.contains(column.name))
          throw Conditions.TableChanged("table" -> relation.name, "change" -> s"${column.name} has another type")
        catalog.headOption.getOrElse(Unread).copy(name = column.name)
      }
    }
    new RowReader(relation.name, layout, schema, whole)
  }

  /** Whether values of both types are read in the same way. */
  def isSame(one: Int, other: Int): Boolean = one == other || Texts(one) && Texts(other)
}
