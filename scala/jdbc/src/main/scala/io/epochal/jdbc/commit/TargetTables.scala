package io.epochal.jdbc.commit

import java.sql.{Connection, SQLException}
import java.util.Locale

import org.apache.spark.sql.types.StructType

import io.epochal.jdbc.database.{BoundTable, Database, Dialect, TargetTable}
import io.epochal.jdbc.option.{QualifiedName, TableName}
import io.epochal.jdbc.sql.Sql
import io.epochal.jdbc.table.{DeadLetterTable, TableCheck}

/** Finds or creates the target and the table of bad rows, and binds the query's columns to the target. */
private[jdbc] object TargetTables {

  /** Another claim of the sink was first: this one begins again, since it has locked nothing. */
  def overtaken: SQLException = new SQLException("another claim of the sink was first", "40001")

  /** Finds the table, or makes it if the options say so, and checks that the rows can go there; and so for bad rows.
    *
    * @param make
    *   false where everything has been made before, and making it would commit the transaction: MySQL's ALTER TABLE does,
    *   even when it is denied
    * @param serialize
    *   lets one at a time go on. Before it, what can wait for others' transactions is done; after it, what must not be made
    *   twice
    */
  def prepare(database: Database, schema: StructType, connection: Connection, make: Boolean = true)(
      serialize: => Unit): BoundTable = {
    val dialect = database.dialect
    val options = database.options
    val check = new TableCheck(dialect, options)
    def find(): Option[TargetTable] = dialect.catalog.find(connection, options.table)
    def bind(table: TargetTable): BoundTable = {
      val identified = if (make) dialect.catalog.identify(connection, table) else table
      val added = check.added(schema, identified).fold(throw _, identity)
      AddedColumns.tried(connection, dialect, identified.name, added) {
        val complete = if (added.isEmpty) identified else find().getOrElse(throw check.missing(None))
        val bound = check.bind(schema, complete).fold(throw _, identity)
        bound.copy(added = added, shape = dialect.catalog.shape(connection, bound))
      }
    }
    val there = find().map(bind)
    serialize
    val bound = there.getOrElse {
      if (find().isDefined) throw overtaken
      if (!options.createTable || !make) throw check.missing(Some(connection))
      val sql = check
        .create(schema, dialect.catalog.newName(connection, options.table), dialect.types.declareKey(connection, _))
        .fold(throw _, identity)
      Sql.create(connection, sql)(find().isDefined)
      bind(find().getOrElse(throw check.missing(None)))
    }
    val trusting = bound.copy(trustedOwners = options.trustedOwners)
    trusting.copy(deadLetters =
      options.rows.deadLetterTable.map(new DeadLetterTable(dialect, _).prepare(connection, trusting.trust)))
  }
}

/** Columns that the query has and the table lacks (`addColumns`).
  *
  * They are added in the transaction of the first epoch: an epoch that is rolled back leaves the table as it was. Rows are
  * encoded before that, for the types that the columns will have. So the claim tries it: it adds them, looks, and takes them
  * back. An epoch that finds other types than the claim had seen is refused, as for any column (`TARGET_CHANGED`).
  */
private[jdbc] object AddedColumns {

  /** Runs `body` as if the table had the columns already. */
  def tried[A](connection: Connection, dialect: Dialect, table: QualifiedName, columns: Seq[(String, String)])(
      body: => A): A =
    if (columns.isEmpty) body
    else {
      Sql.run(connection, s"SAVEPOINT $Savepoint")
      alter(connection, dialect, table, columns)
      val result = body
      Sql.run(connection, s"ROLLBACK TO SAVEPOINT $Savepoint")
      Sql.run(connection, s"RELEASE SAVEPOINT $Savepoint")
      result
    }

  /** Adds those that are still missing. */
  def add(connection: Connection, dialect: Dialect, name: TableName, bound: BoundTable): Unit =
    if (bound.added.nonEmpty) {
      val there = dialect.catalog.find(connection, name).toSeq.flatMap(_.columns).map(_.name.toLowerCase(Locale.ROOT))
      alter(
        connection,
        dialect,
        bound.table.name,
        bound.added.filterNot { case (column, _) => there.contains(column.toLowerCase(Locale.ROOT)) })
    }

  private def alter(
      connection: Connection,
      dialect: Dialect,
      table: QualifiedName,
      columns: Seq[(String, String)]): Unit = columns.foreach { case (column, kind) =>
    Sql.run(connection, s"ALTER TABLE ${dialect.quote(table)} ADD COLUMN ${dialect.quote(column)} $kind")
  }

  private val Savepoint = "epochal_columns"
}
