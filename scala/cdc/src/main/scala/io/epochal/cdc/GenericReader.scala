package io.epochal.cdc

import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.cdc.value.{RowJson, TypeText}
import io.epochal.kit.database.PostgresColumn
import io.epochal.kit.source.journal.Frames

/** Rows of any table, as JSON.
  *
  * @param catalogColumns
  *   columns of all types that the catalog had when the query was planned; the frames describe others
  */
final private class GenericReader(frames: Frames, catalogColumns: Seq[PostgresColumn], columns: StructType)
    extends CdcReader(frames, columns, range = None) {
  import GenericReader._

  private val types = catalogColumns.map(column => column.kind.oid.toInt -> column.kind).toMap
  private val (name, before, after) = (place("_table"), place("before"), place("after"))
  private val writers = new java.util.IdentityHashMap[Relation, RowJson]
  private var json: RowJson = _

  /** Whether the change has an old tuple, and all its columns. */
  private var hasOld, isOldWhole = false

  /** Changes of several tables alternate. */
  override protected def use(relation: Relation): Unit = {
    if (writers.size >= MaxWriters) writers.clear()
    json = writers.computeIfAbsent(relation, writer(_))
  }

  private def writer(relation: Relation): RowJson = new RowJson(
    relation.name,
    relation.columns.zip(TypeText.read(relation.types)).map { case (column, kind) =>
      (column.name, column.isKey, types.getOrElse(column.typeOid, kind))
    })

  override protected def readOld(at: Int): Int = {
    hasOld = true
    isOldWhole = buffer(at) == 'O'
    json.readBefore(buffer, at + 1)
  }

  override protected def set(at: Int, change: UTF8String, completes: Boolean): Array[UTF8String] = {
    val isNew = buffer(at) == 'N'
    if (isNew) {
      json.readRow(buffer, at + 1)
      if (completes) json.complete()
    } else if (!hasOld) readOld(at): Unit
    if (before >= 0)
      values(before) =
        if (!isNew || hasOld && (change eq CdcReader.After)) json.before(isOldWhole)
        else if (change eq CdcReader.After) json.identity
        else null
    if (after >= 0) values(after) = if (isNew) json.after else null
    if (name >= 0) values(name) = json.table
    hasOld = false
    if (isNew) json.unchanged else null
  }

  override protected def empty(change: UTF8String): Unit = {
    super.empty(change)
    if (name >= 0) values(name) = json.table
  }
}

private object GenericReader {

  /** Tables whose writers are kept. */
  val MaxWriters = 1000
}
