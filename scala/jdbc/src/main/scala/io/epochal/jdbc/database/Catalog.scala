package io.epochal.jdbc.database

import java.sql.Connection

import scala.annotation.unused

import io.epochal.jdbc.option.JdbcOptions
import io.epochal.kit.database.{QualifiedName, Sql, TableName}

/** The tables of a database. */
trait Catalog {

  /** The table of that name, as written or in the database's own case. */
  def find(connection: Connection, name: TableName): Option[TargetTable]

  /** Names of tables in the same schema, for suggestions. */
  def tableNames(connection: Connection, name: TableName): Seq[String]

  /** The name that a new table would get. */
  def newName(connection: Connection, name: TableName): QualifiedName

  def exists(connection: Connection, table: QualifiedName): Boolean

  /** Marks the table, so that a recreated table of the same name is recognised, where the database has no table id. Where no mark
    * is possible, a recreated table goes unnoticed.
    */
  def identify(@unused connection: Connection, table: TargetTable): TargetTable = table

  /** SQL for the table's current id, as `identify` would return it; `NULL` if there is no table. */
  def identitySql(@unused table: QualifiedName): String = "NULL"

  /** SQL for a text that changes whenever the types of the bound columns change; never NULL. */
  def shapeSql(table: BoundTable): String

  /** Refuses a table, or a database. */
  final protected def refuse(target: Any, reason: String, suggestion: String): Nothing =
    throw JdbcOptions.unsupported(s"write to $target", reason, suggestion)

  final def identity(connection: Connection, table: QualifiedName): Option[Long] =
    Sql.query(connection, s"SELECT ${identitySql(table)} AS oid")(Sql.long(_, "oid")).head

  final def shape(connection: Connection, table: BoundTable): String =
    Sql.query(connection, s"SELECT ${shapeSql(table)}")(_.getString(1)).head
}
