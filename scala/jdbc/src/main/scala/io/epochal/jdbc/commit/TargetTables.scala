package io.epochal.jdbc.commit

import java.sql.{Connection, SQLException}

import org.apache.spark.sql.types.StructType

import io.epochal.core.ledger.Target
import io.epochal.jdbc.database.{Alteration, BoundTable, Database, Dialect, TargetTable, Transaction, WriteMode}
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.jdbc.table.{DeadLetterTable, TableCheck}
import io.epochal.kit.database.{QualifiedName, Sql, TableName}

/** Finds or creates the target and the dead-letter table, and binds the query's columns to the target. */
private[jdbc] object TargetTables {

  /** Another claim of the sink was first: this claim starts over, since it holds no lock. */
  def overtaken: SQLException = new SQLException("another claim of the sink was first", "40001")

  /** [[prepare]] in a transaction of its own, with what belongs to it. */
  def make[A](database: Database, schema: StructType, transaction: Transaction)(body: BoundTable => A): A = {
    val connection = transaction.connection
    val bound = prepare(database, schema, connection)(database.dialect.ledger.serializeClaims(connection): Unit)
    val result = body(bound)
    transaction.commit()
    result
  }

  /** Stands for several tables in the ledger: the rule for their names. Its name is that of one of them, whose owner is trusted. */
  def rule(database: Database, tables: Seq[TableName], connection: Connection): BoundTable = {
    val catalog = database.dialect.catalog
    val foundNames = tables.map(table => catalog.find(connection, table).map(_.name))
    val names = tables.zip(foundNames).map { case (table, name) => name.getOrElse(catalog.newName(connection, table)) }
    val schemas = names.zip(tables).groupMap(_._1.schema)(_._2)
    if (schemas.sizeIs > 1)
      throw JdbcOptions.unsupported(
        "write tables of several schemas in one query",
        schemas.map { case (schema, names) => s"${names.head} is in $schema" }.toSeq.sorted.mkString(", "),
        s"Name the schema in {option:dbtable=schema.${database.options.table.table.text}}.")
    val rule = QualifiedName(schemas.keys.head, database.options.table.table.text)
    val table = TargetTable(foundNames.flatten.headOption.getOrElse(names.head), Target(rule.toString, None), Nil, Nil)
    BoundTable(table, Nil, WriteMode.Append, trustedOwners = database.options.trustedOwners)
  }

  /** Finds the table, or creates it if the options say so, and checks that the query's rows fit; the same for the dead-letter table.
    *
    * @param make
    *   false if everything was created in an earlier transaction and creating it again would commit this one: MySQL's ALTER
    *   TABLE does, even if it is denied
    * @param serialize
    *   admits one claim at a time. Steps that can wait for other transactions run before it, creations that must not run twice
    *   after it
    */
  def prepare(database: Database, schema: StructType, connection: Connection, make: Boolean = true)(
      serialize: => Unit): BoundTable = {
    val dialect = database.dialect
    val options = database.options
    val check = new TableCheck(dialect, options, schema)
    def find(): Option[TargetTable] = dialect.catalog.find(connection, options.table)
    def bind(table: TargetTable): BoundTable = {
      val markedTable = if (make) dialect.catalog.identify(connection, table) else table
      val alterations = check.alterations(markedTable, connection).fold(throw _, identity)
      val columns = new AlteredColumns(connection, dialect)
      def bindAltered(later: Seq[Alteration]): BoundTable = {
        val complete = if (alterations.isEmpty) markedTable else find().getOrElse(throw check.missing(None))
        val bound = check.bind(complete).fold(error => throw check.refusal(connection, complete)(error), identity)
        bound.copy(alterations = later, shape = dialect.catalog.shape(connection, bound))
      }
      if (alterations.isEmpty) bindAltered(Nil)
      else if (!dialect.abilities.ddlCommits) columns.preview(markedTable.name, alterations)(bindAltered(alterations))
      else {
        if (!make) throw overtaken
        columns.alter(options.table, markedTable.name, alterations)
        bindAltered(Nil)
      }
    }
    val existing = find().map(bind)
    serialize
    val bound = existing.getOrElse {
      if (find().isDefined) throw overtaken
      if (!options.createTable || !make) throw check.missing(Some(connection))
      val sql = check.create(dialect.catalog.newName(connection, options.table), Some(connection))
      Sql.create(connection, sql.fold(throw _, identity))(find().isDefined)
      bind(find().getOrElse(throw check.missing(None)))
    }
    val trusting = bound.copy(trustedOwners = options.trustedOwners)
    trusting.copy(deadLetters = options.deadLetterTable.map { name =>
      val letters = new DeadLetterTable(dialect, name)
      if (make) letters.prepare(connection, trusting.trust)
      else letters.find(connection, trusting.trust).getOrElse(throw overtaken)
    })
  }
}

/** Columns that the table lacks (`addColumns`), or that do not take the query's rows as they are (`alterColumns`).
  *
  * They are altered in the transaction of the first epoch, so an epoch that is rolled back leaves the table as it was. Rows are
  * encoded earlier, for the types that the columns will have. The claim therefore alters the columns, reads their types and rolls
  * the change back. An epoch that finds other types than the claim is refused, as for any column (`TARGET_CHANGED`). Where DDL
  * commits, the claim alters them for good.
  */
final private[jdbc] class AlteredColumns(connection: Connection, dialect: Dialect) {

  /** Runs `body` as if the columns were altered. */
  def preview[A](table: QualifiedName, alterations: Seq[Alteration])(body: => A): A = {
    Sql.run(connection, s"SAVEPOINT $Savepoint")
    alterations.foreach(one => Sql.run(connection, sql(table, one)))
    val result = body
    Sql.run(connection, s"ROLLBACK TO SAVEPOINT $Savepoint")
    Sql.run(connection, s"RELEASE SAVEPOINT $Savepoint")
    result
  }

  /** Does what is still to be done. */
  def alter(name: TableName, table: QualifiedName, alterations: Seq[Alteration]): Unit = {
    def isDone(one: Alteration): Boolean = dialect.catalog.find(connection, name).exists(one.isDone)
    alterations.filterNot(isDone).foreach(one => Sql.create(connection, sql(table, one))(isDone(one)))
  }

  private def sql(table: QualifiedName, one: Alteration): String =
    s"ALTER TABLE ${dialect.quote(table)} ${one.clause}"

  private val Savepoint = "epochal_columns"
}
