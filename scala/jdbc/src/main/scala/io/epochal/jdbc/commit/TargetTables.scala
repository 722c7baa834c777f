package io.epochal.jdbc.commit

import java.sql.{Connection, SQLException}

import org.apache.spark.sql.types.StructType

import io.epochal.jdbc.database.{BoundTable, Database, TargetTable}
import io.epochal.jdbc.sql.{Ddl, Sql}
import io.epochal.jdbc.table.{AddedColumns, DeadLetterTable, TableCheck}

/** Makes the table that is meant, and that of bad rows, ready for a query's rows. */
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
    def find(): Option[TargetTable] = dialect.find(connection, options.table)
    def bind(table: TargetTable): BoundTable = {
      val identified = if (make) dialect.identify(connection, table) else table
      val added = check.added(schema, identified).fold(throw _, identity)
      AddedColumns.tried(connection, dialect, identified.name, added) {
        val complete = if (added.isEmpty) identified else find().getOrElse(throw check.missing(None))
        val bound = check.bind(schema, complete).fold(throw _, identity)
        bound.copy(
          added = added,
          shape = Sql.query(connection, s"SELECT ${dialect.shapeSql(bound)}")(_.getString(1)).head)
      }
    }
    val there = find().map(bind)
    serialize
    val bound = there.getOrElse {
      if (find().isDefined) throw overtaken
      if (!options.createTable || !make) throw check.missing(Some(connection))
      val sql = check
        .create(schema, dialect.newName(connection, options.table), dialect.declareKey(connection, _))
        .fold(throw _, identity)
      Ddl.create(connection, sql)(find().isDefined)
      bind(find().getOrElse(throw check.missing(None)))
    }
    val trusting = bound.copy(trustedOwners = options.trustedOwners)
    trusting.copy(deadLetters =
      options.rows.deadLetterTable.map(new DeadLetterTable(dialect, _).prepare(connection, trusting.trust)))
  }
}
