package io.epochal.kit.record

import org.apache.spark.sql.types.{MetadataBuilder, StructField}

/** How the table of a change feed declares a column, for replicas that are to declare it alike. Stands in the metadata of the query's
  * column, which selections, filters and new names keep, and casts and other expressions do not.
  *
  * @param name
  *   in that table
  * @param declaration
  *   its PostgreSQL type, as `format_type` prints it, with its schema unless that is `pg_catalog`; a domain's base type
  * @param modifier
  *   `atttypmod`
  * @param isRequired
  *   whether it is NOT NULL
  * @param isSent
  *   whether each update has its value: the server leaves out a large one that stays as it is
  */
final case class SourceColumn(name: String, declaration: String, modifier: Int, isRequired: Boolean, isSent: Boolean) {

  /** The column of a query, with its origin in its metadata. */
  def mark(field: StructField): StructField = {
    val column = new MetadataBuilder()
      .putString("name", name)
      .putString("type", declaration)
      .putLong("modifier", modifier.toLong)
      .putBoolean("required", isRequired)
      .putBoolean("sent", isSent)
    field.copy(metadata =
      new MetadataBuilder().withMetadata(field.metadata).putMetadata(SourceColumn.Mark, column.build()).build())
  }
}

object SourceColumn {
  private val Mark = "epochal.column"

  /** Of a column of a query; None: it does not come from a change feed, or the query computes it. */
  def of(field: StructField): Option[SourceColumn] = Option.when(field.metadata.contains(Mark)) {
    val column = field.metadata.getMetadata(Mark)
    SourceColumn(
      column.getString("name"),
      column.getString("type"),
      column.getLong("modifier").toInt,
      column.getBoolean("required"),
      column.getBoolean("sent"))
  }

  /** The name by which the feed lists a column of a query. */
  def nameOf(field: StructField): String = of(field).fold(field.name)(_.name)

  /** Why a query without the list of the columns that a row lacks cannot keep a replica; None: it can. */
  def obstacle(columns: Seq[StructField], list: String): Option[String] =
    columns.find(of(_).exists(!_.isSent)).map { field =>
      s"the query leaves $list out, and a large value of '${field.name}' that an update leaves as it is would become NULL"
    }
}
