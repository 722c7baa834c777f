package io.epochal.jdbc.sqlite

import java.sql.{Connection, SQLException, SQLIntegrityConstraintViolationException}

import io.epochal.jdbc.database.{BoundColumn, BoundTable, Loaded, Verification, WriteMode}
import io.epochal.jdbc.insert.{InsertBatches, TemporaryMerge}
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._
import io.epochal.kit.sink.row.EncodedRows

/** Loads encoded rows into a table by multi-row INSERTs. */
private[sqlite] object SqliteLoad {

  /** The temporary table for rows that replace others. */
  final val Incoming = "temp.epochal_incoming"

  /** SQLITE_CONSTRAINT. */
  final val Constraint = 19

  private val MaxParameters = 32766
  private val inserts = new InsertBatches(SqliteRules, SqliteDialect.quote, MaxParameters)

  def apply(connection: Connection, table: BoundTable, rows: EncodedRows, batchSize: Int): Loaded =
    table.mode match {
      case WriteMode.Append =>
        val target = SqliteDialect.quote(table.table.name)
        Loaded.Rows(inserts.multiRow(connection, target, table, rows, batchSize), rows.rows)
      case upsert: WriteMode.Upsert =>
        new SqliteMerge(connection, table, upsert)(rows.rows)(
          inserts.multiRow(connection, Incoming, table, rows, batchSize))
    }
}

/** Merges rows by key. SQLite's ON CONFLICT would let the last of several rows with one key win, in arbitrary order, so duplicates
  * are resolved first.
  */
final private class SqliteMerge(connection: Connection, table: BoundTable, upsert: WriteMode.Upsert)
    extends TemporaryMerge(SqliteDialect, connection, table, upsert, SqliteLoad.Incoming) {
  import SqliteLoad.Incoming

  private val Winners = "temp.epochal_winners"

  override protected def create(): Unit = {
    val operation = table.operation.fold("")(_.names.map(name => s", 0 AS ${quote(name)}").mkString)
    run(s"CREATE TABLE $Incoming AS SELECT $names$operation FROM $target WHERE 0")
  }

  /** Temporary tables lack the target's collations, so these are added explicitly. */
  override protected def keys: String = upsert.keys
    .map(key => upsert.loose.get(key).fold(quote(key))(loose => s"${quote(key)} ${SqliteCatalog.collated(loose)}"))
    .mkString(", ")

  override protected def drop(): Unit = run(s"DROP TABLE $Incoming")

  override protected def merge(rows: Long, distinct: Long): Loaded = {
    val changes = feed
    val verification = changes.flatMap(_.verification(equal))
    def result = merge(distinct, changes, verification)
    changes.fold[Loaded](result)(_.write(verification)(result))
  }

  private def merge(distinct: Long, changes: Option[Feed], verification: Option[Verification]): Loaded.Rows = {
    run(s"CREATE TABLE $Winners AS SELECT * FROM ${changes.fold(winners)(_.winners(equal))}")
    changes.flatMap(_.removals(Winners)).foreach(run)
    val comparison = verification.orElse(changes.flatMap(_.replacement(Winners, equal)))
    val partial = changes.filter(_.isPartial)
    for (operation <- upsert.operation if changes.exists(_.emptied.nonEmpty))
      replace(quote(operation.name), partial.nonEmpty)
    val lostRows = partial.fold(0L)(_.followKeys(Winners, equal))
    val (deletedRows, foundRows, keptRows) =
      upsert.operation.fold((0L, 0L, distinct))(operation => delete(quote(operation.name)))
    val updatedRows = partial.fold(0L)(_.update(Winners, equal))
    val storedRows = Sql
      .raw(text"""INSERT INTO $target AS t ($names) SELECT $names FROM ${changes.fold(Winners)(
          _.whole(Winners))} AS w WHERE true ORDER BY $keys
         |ON CONFLICT ($keys) DO UPDATE SET ${updates("excluded")}""")
      .update(connection)
    run(s"DROP TABLE $Winners")
    Loaded
      .Rows(deletedRows + storedRows + updatedRows, foundRows + keptRows + lostRows)
      .verifying(comparison)
  }

  /** Empties the target, but for the keys of the winners, which then lack its rows that are equal. */
  private def replace(deletes: String, isPartial: Boolean): Unit =
    // The values of a partial row are those of the winners, and not of the target.
    if (isPartial) run(s"DELETE FROM $target")
    else {
      run(s"DELETE FROM $target WHERE (($keys) IN (SELECT $keys FROM $Winners WHERE NOT $deletes)) IS NOT TRUE")
      run(s"DELETE FROM $Winners AS w WHERE EXISTS (SELECT 1 FROM $target AS t WHERE $equal AND $identical)")
    }

  /** The first shows a zero's sign, too, but a text only up to NUL. */
  override protected def identical: String = table.columnNames
    .map(quote)
    .map(name => s"quote(t.$name) = quote(w.$name) AND CAST(t.$name AS BLOB) IS CAST(w.$name AS BLOB)")
    .mkString(" AND ")

  /** The driver reports a violation of deferred foreign keys only at the commit. */
  override protected def checkConstraints(): Unit = if (count("SELECT foreign_keys FROM pragma_foreign_keys") > 0)
    if (count("SELECT count(*) FROM pragma_foreign_key_check") > 0)
      throw new SQLIntegrityConstraintViolationException("FOREIGN KEY constraint failed", "23000")

  override protected def isViolation(error: SQLException): Boolean =
    super.isViolation(error) || (error.getErrorCode & 0xff) == SqliteLoad.Constraint

  override protected def uuidOrder(column: BoundColumn, name: String): Option[String] =
    Option.unless(upsert.loose.contains(column.column.name))(s"$name COLLATE BINARY")

  override protected def temporary(name: String, query: String, indexes: Seq[Seq[String]]): String = {
    val relation = s"temp.epochal_$name"
    run(s"DROP TABLE IF EXISTS $relation")
    run(s"CREATE TABLE $relation AS $query")
    relation
  }

  override protected def drop(temporary: String): Unit = run(s"DROP TABLE $temporary")

  private def equal: String = upsert.keys
    .map { key =>
      val collation = upsert.loose.get(key).fold("")(loose => s" ${SqliteCatalog.collated(loose)}")
      s"t.${quote(key)} = w.${quote(key)}$collation"
    }
    .mkString(" AND ")

  /** Rows that were deleted, rows that should have been, and rows to store. */
  private def delete(deletes: String): (Long, Long, Long) = {
    val targets = s"$target WHERE ($keys) IN (SELECT $keys FROM $Winners WHERE $deletes)"
    val foundRows = count(s"SELECT count(*) FROM $targets")
    val deletedRows = Sql.update(connection, s"DELETE FROM $targets")
    run(s"DELETE FROM $Winners WHERE $deletes")
    (deletedRows, foundRows, count(s"SELECT count(*) FROM $Winners"))
  }
}
