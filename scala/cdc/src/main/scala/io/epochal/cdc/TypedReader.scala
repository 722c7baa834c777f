package io.epochal.cdc

import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.cdc.pgoutput.RelationColumn
import io.epochal.cdc.value.RowReader
import io.epochal.core.error.Conditions
import io.epochal.kit.database.{PostgresColumn, PostgresType}
import io.epochal.kit.source.journal.Frames

/** Rows with the columns of the table.
  *
  * @param follows
  *   whether a reload follows rows with another type: they are left out
  */
final private class TypedReader(
    frames: Frames,
    catalog: Seq[PostgresColumn],
    columns: StructType,
    range: Option[CommitRange] = None,
    follows: Boolean = false)
    extends CdcReader(frames, columns, range) {
  private val before = new Array[Any](schema.length)
  private var reader: RowReader = _
  private var isReadable = true

  override protected def use(relation: Relation): Unit = {
    isReadable = !follows || TypedReader.other(relation, catalog, schema).isEmpty
    reader = TypedReader.rowReader(relation, catalog, schema, follows)
  }

  override protected def delivers: Boolean = isReadable

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

  /** int2, int4, int8; float4, float8. */
  private val Widening = Seq(Seq(21, 23, 20), Seq(700, 701))
  private val Texts = Set(RelationColumn.Text, RelationColumn.Varchar)

  /** The column of a definition with another type than the query reads. */
  def other(relation: Relation, catalog: Seq[PostgresColumn], schema: StructType): Option[String] =
    other(relation, catalog.filter(column => schema.fieldNames.contains(column.name)))

  /** @param readColumns
    *   those that the query reads
    */
  def other(relation: Relation, readColumns: Seq[PostgresColumn]): Option[String] =
    relation.columns
      .filter(column => readColumns.exists(_.name == column.name))
      .find(column => !readColumns.exists(holds(_, column)))
      .map(_.name)

  /** @param catalog
    *   the table's columns as they were when the query was planned
    * @param follows
    *   whether values of other types are left out
    * @param whole
    *   the schema to declare for given columns of the table
    */
  def rowReader(
      relation: Relation,
      catalog: Seq[PostgresColumn],
      schema: StructType,
      follows: Boolean,
      whole: StructType => StructType = identity): RowReader = {
    other(relation, catalog, schema).filterNot(_ => follows).foreach { name =>
      throw Conditions.TableChanged("table" -> relation.name, "change" -> s"$name has another type")
    }
    val layout = relation.columns.map(column =>
      catalog.find(holds(_, column)).getOrElse(catalog.headOption.getOrElse(Unread).copy(name = "")))
    new RowReader(relation.name, layout, schema, whole)
  }

  /** Whether a column has the values of another definition of it, as the server sends them. */
  private def holds(column: PostgresColumn, other: RelationColumn): Boolean =
    column.name == other.name && holds(column.kind.oid.toInt, other.typeOid)

  private def holds(one: Int, other: Int): Boolean =
    one == other || Texts(one) && Texts(other) || Widening.exists(types => types.dropWhile(_ != other).contains(one))
}
