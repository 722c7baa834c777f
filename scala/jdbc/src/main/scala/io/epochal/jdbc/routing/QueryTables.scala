package io.epochal.jdbc.routing

import java.util.Locale

import org.apache.spark.sql.types.{StructField, StructType}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.option.NameList
import io.epochal.jdbc.database.FeedColumns
import io.epochal.jdbc.option.{JdbcOptions, TableRule}
import io.epochal.jdbc.row.Texts
import io.epochal.jdbc.table.QueryColumns
import io.epochal.jdbc.table.QueryColumns.Checked
import io.epochal.kit.database.TableName
import io.epochal.kit.record.ReplicaKey

/** A table of a query with rows of several: a replica, or one that keeps every change.
  *
  * @param id
  *   unique in the query
  * @param source
  *   its name in `tableColumn`, and that of its STRUCT in the query
  * @param ordinal
  *   index of that column
  * @param schema
  *   the columns of the STRUCT, then those of the feed: what a query of this table alone would have
  */
final private[jdbc] case class QueryTable(
    id: String,
    source: String,
    ordinal: Int,
    options: JdbcOptions,
    schema: StructType)

/** The tables of a query with `tableColumn`.
  *
  * @param name
  *   index of that column
  * @param feed
  *   indexes of the columns of the change feed
  */
final private[jdbc] case class QueryTables(schema: StructType, name: Int, feed: Seq[Int], all: Seq[QueryTable]) {

  /** How many tables each row is written to: 2 with a replica and a history, else 1. */
  def copies: Int = all.size / all.map(_.source).distinct.size
}

private[jdbc] object QueryTables {

  /** None: all rows are of one table. */
  def of(schema: StructType, options: JdbcOptions): Checked[Option[QueryTables]] = options.tableColumn match {
    case None => Right(None)
    case Some(column) =>
      val feed = schema.indices.filter(i => FeedColumns.all.contains(schema(i).name))
      for {
        name <- QueryColumns
          .find(column, schema.fields.toSeq)(_.name)
          .filter(field => Texts.is(field.dataType))
          .toRight(invalid(column, schema))
        structs = schema.indices.filterNot(i => schema(i) == name || feed.contains(i))
        replicas <- QueryColumns.all(structs.filter(_ => options.changes))(replica(_, schema, feed, options))
        rule = if (options.changes) options.historyTable else Some(options.table)
        histories <- QueryColumns.all(rule.toSeq.flatMap(name => structs.map(_ -> name))) { case (i, name) =>
          history(i, schema, feed, options, name)
        }
        tables = replicas ++ histories
        _ <- JdbcOptions.ensure(tables.nonEmpty)(invalid(column, schema))
        _ <- distinct(tables)
      } yield Some(QueryTables(schema, schema.indexOf(name), feed, tables))
  }

  private def replica(ordinal: Int, schema: StructType, feed: Seq[Int], options: JdbcOptions): Checked[QueryTable] = {
    val name = schema(ordinal).name
    for {
      columns <- struct(schema(ordinal))
      keys <- ReplicaKey.of(columns).map(_.map(_.name)).toRight(keyless(name))
      own = options.of(TableRule.name(options.table, name), keys)
    } yield QueryTable(name, name, ordinal, own, StructType(columns ++ feed.map(schema(_))))
  }

  private def history(
      ordinal: Int,
      schema: StructType,
      feed: Seq[Int],
      options: JdbcOptions,
      rule: TableName): Checked[QueryTable] = {
    val name = schema(ordinal).name
    val own = options.ofHistory(TableRule.name(rule, name))
    struct(schema(ordinal)).map(columns =>
      QueryTable(s"$name/history", name, ordinal, own, StructType(columns ++ feed.map(schema(_)))))
  }

  private def struct(field: StructField): Checked[StructType] = field.dataType match {
    case struct: StructType => Right(struct)
    case other              => Left(notTable(field.name, other.sql))
  }

  private def distinct(tables: Seq[QueryTable]): Checked[Unit] =
    tables
      .groupBy(_.options.table.toString.toLowerCase(Locale.ROOT))
      .collectFirst { case (_, same) if same.sizeIs > 1 => same }
      .map { same =>
        JdbcOptions.group.conflict(
          s"the names of the targets of ${same.map(_.id).mkString(", ")}",
          s"They are all ${same.head.options.table}. Add {schema} to the name of the replicas, as in {schema}_{table}, and give histories another name, as in {schema}_{table}_history."
        )
      }
      .toLeft(())

  private def invalid(column: String, schema: StructType): EpochalException = JdbcOptions.group.invalid(
    JdbcOptions.TableColumn,
    column,
    s"a STRING column beside a STRUCT for each table; the query has ${NameList.shown(schema.fieldNames.toSeq)}")

  private def notTable(column: String, kind: String): EpochalException = JdbcOptions.unsupported(
    s"route the column '$column'",
    s"it is $kind, and with {option:tableColumn} each column is a table's STRUCT",
    s"Leave it out of the query, .drop('$column'), or read epochal-cdc with {option:rows=typed}.")

  private def keyless(table: String): EpochalException = Conditions.KeyNotFollowed(
    "column" -> "any key column",
    "table" -> table,
    "advice" -> s"Give $table a primary key, and keep all of its columns in the query. Or leave the table out: name only the other tables, or add .where(\"_table <> '$table'\").drop('$table')")
}
