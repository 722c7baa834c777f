package io.epochal.jdbc.sqlite

import java.sql.Connection
import java.util.Locale

import scala.util.Random

import io.epochal.core.ledger.Target
import io.epochal.jdbc.database.{BoundTable, Catalog, TargetColumn, TargetKey, TargetTable}
import io.epochal.kit.database.SqlText._
import io.epochal.kit.database.{QualifiedName, Sql, TableName}

/** Tables as listed in SQLite's schema table. Names are case-insensitive.
  *
  * SQLite tables have no id. To recognise a recreated table, we create an empty index on it, `epochal_target_<number>`, whose
  * condition no row meets: it costs nothing, survives VACUUM and disappears with the table.
  */
private[sqlite] object SqliteCatalog extends Catalog {

  private val Schema = "main"
  private val Mark = "epochal_target_"

  override def find(connection: Connection, name: TableName): Option[TargetTable] =
    if (!name.schema.forall(_.text.equalsIgnoreCase(Schema))) None
    else
      sql"""SELECT name, type, sql FROM main.sqlite_schema
         |WHERE type IN ('table', 'view') AND name = ${name.table.text} COLLATE NOCASE"""
        .query(connection)(rows => (rows.getString(1), rows.getString(2), rows.getString(3)))
        .headOption
        .map { case (table, kind, sql) =>
          if (kind == "view" || sql.toUpperCase(Locale.ROOT).startsWith("CREATE VIRTUAL"))
            refuse(table, s"it is a ${if (kind == "view") "view" else "virtual table"}", "Name an ordinary table.")
          describe(connection, table)
        }

  override def tableNames(connection: Connection, name: TableName): Seq[String] =
    Sql.query(connection, "SELECT name FROM main.sqlite_schema WHERE type = 'table' ORDER BY name LIMIT 1000")(
      _.getString(1))

  override def newName(connection: Connection, name: TableName): QualifiedName =
    QualifiedName(Schema, name.table.text)

  override def exists(connection: Connection, table: QualifiedName): Boolean =
    sql"SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = ${table.table}"
      .query(connection)(_.getInt(1))
      .nonEmpty

  /** Values carry their own type, independent of the column's. */
  override def shapeSql(table: BoundTable): String = "''"

  override def identify(connection: Connection, table: TargetTable): TargetTable =
    if (table.target.oid.isDefined) table
    else {
      val number = Random.between(1L, 1000000000000L)
      val column = table.columns.find(!_.generated).getOrElse(table.columns.head).name
      Sql.update(
        connection,
        s"CREATE INDEX main.$Mark$number ON ${SqliteDialect.quote(table.name.table)} (${SqliteDialect.quote(column)}) WHERE 0"
      ): Unit
      table.copy(target = table.target.copy(oid = Some(number)))
    }

  override def identitySql(table: QualifiedName): String =
    text"""(SELECT CAST(substr(name, ${Mark.length + 1}) AS INTEGER) FROM main.sqlite_schema
       |WHERE type = 'index' AND substr(name, 1, ${Mark.length}) = '$Mark'
       |AND tbl_name = '${table.table.replace("'", "''")}' COLLATE NOCASE)"""

  private def describe(connection: Connection, table: String): TargetTable = {
    val name = QualifiedName(Schema, table)
    val (withoutRowid, strict) = sql"SELECT wr, strict FROM pragma_table_list WHERE schema = 'main' AND name = $table"
      .query(connection)(rows => (rows.getBoolean(1), rows.getBoolean(2)))
      .headOption
      .getOrElse((false, false))
    val sortsTexts = Sql.query(connection, "SELECT encoding FROM pragma_encoding")(_.getString(1)).contains("UTF-8")
    // A primary key of one column that is an alias of the rowid: SQLite generates a value for NULL.
    val alias = sql"SELECT name, type FROM pragma_table_xinfo($table, 'main') WHERE pk > 0"
      .query(connection)(rows => (rows.getString(1), rows.getString(2))) match {
      case Seq((column, declaration)) if declaration.equalsIgnoreCase("INTEGER") && !withoutRowid => Some(column)
      case _                                                                                      => None
    }
    val columns =
      sql"""SELECT name, type, "notnull", dflt_value, hidden FROM pragma_table_xinfo($table, 'main') WHERE hidden <> 1"""
        .query(connection) { rows =>
          val column = rows.getString(1)
          TargetColumn(
            column,
            SqliteType.of(rows.getString(2), strict, sortsTexts),
            nullable = !rows.getBoolean(3) && !alias.contains(column),
            filled = rows.getString(4) != null || alias.contains(column),
            generated = rows.getInt(5) > 0)
        }
    TargetTable(
      name,
      Target(table, identity(connection, name)),
      columns,
      (alias.map(column => TargetKey(Set(column))) ++ indexes(connection, table)).toSeq)
  }

  /** Unique indexes on columns, not on expressions. */
  private def indexes(connection: Connection, table: String): Seq[TargetKey] =
    TargetKey.ofIndexes(sql"""SELECT l.name, i.name, nullif(i.coll, 'BINARY')
           |FROM pragma_index_list($table, 'main') AS l, pragma_index_xinfo(l.name, 'main') AS i
           |WHERE l."unique" AND NOT l.partial AND i.key""".query(connection)(rows =>
      (rows.getString(1), Option(rows.getString(2)), Option(rows.getString(3)).map(Collation + _))))

  private val Collation = "collation "

  /** SQL that compares a key by the collation in `loose`, as the index does. */
  def collated(loose: String): String = s"COLLATE ${SqliteDialect.quote(loose.stripPrefix(Collation))}"
}
