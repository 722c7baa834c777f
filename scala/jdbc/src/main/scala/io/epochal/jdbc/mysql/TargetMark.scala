package io.epochal.jdbc.mysql

import java.sql.{Connection, SQLException}

import scala.util.Random

import io.epochal.jdbc.database.TargetTable
import io.epochal.jdbc.option.QualifiedName
import io.epochal.jdbc.sql.Sql
import io.epochal.jdbc.sql.SqlText._

/** Tells a table from one of the same name that was made after it was dropped.
  *
  * InnoDB's own number of a table is seen with the PROCESS privilege only, and changes with every OPTIMIZE. So a number of
  * ours is put at the end of the table's comment: `[epochal_target_<number>]`. It stays through TRUNCATE and ALTER and goes
  * with the table. It takes the ALTER privilege, once; without it the table has no number, and its like is not noticed.
  */
private[mysql] object TargetMark {

  private val Prefix = "[epochal_target_"

  // For each table its own: an ALTER that waits must not delay those of other tables.
  private val LockPrefix = "epochal_target_"
  private val LockSeconds = 30
  private val LongestComment = 2048

  def sql(table: QualifiedName): String =
    sql"""(SELECT CASE WHEN LOCATE('$Prefix', table_comment) > 0
       |THEN CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(table_comment, '$Prefix', -1), ']', 1) AS SIGNED) END
       |FROM information_schema.tables WHERE table_schema = ${MysqlDialect.literal(table.schema)}
       |AND table_name = ${MysqlDialect.literal(table.table)})"""

  def read(connection: Connection, table: QualifiedName): Option[Long] =
    Sql.query(connection, s"SELECT ${sql(table)} AS oid")(Sql.long(_, "oid")).head

  /** Commits the transaction. One at a time: two that put their numbers at once would each believe in its own. */
  def put(connection: Connection, table: TargetTable): TargetTable =
    if (table.target.oid.isDefined) table
    else {
      val lock =
        s"CONCAT('$LockPrefix', MD5(CONCAT(${MysqlDialect.literal(table.name.schema)}, '.', ${MysqlDialect.literal(table.name.table)})))"
      Sql.query(connection, s"SELECT GET_LOCK($lock, $LockSeconds)")(_.getInt(1)): Unit
      try {
        if (read(connection, table.name).isEmpty) mark(connection, table.name)
        table.copy(target = table.target.copy(oid = read(connection, table.name)))
      } finally Sql.query(connection, s"SELECT RELEASE_LOCK($lock)")(_.getInt(1)): Unit
    }

  private def mark(connection: Connection, table: QualifiedName): Unit = {
    val comment = Sql
      .query(
        connection,
        "SELECT table_comment FROM information_schema.tables WHERE table_schema = ? AND table_name = ?",
        table.schema,
        table.table)(_.getString(1))
      .headOption
      .getOrElse("")
    val marked = s"$comment $Prefix${Random.between(1L, 1000000000000L)}]".trim
    // Whether a backslash needs another one depends on sql_mode.
    if (marked.length <= LongestComment && !marked.contains("\\"))
      try
        Sql.run(connection, s"ALTER TABLE ${MysqlDialect.quote(table)} COMMENT = '${marked.replace("'", "''")}'")
      catch { case error: SQLException if MysqlErrors.denied(error) => () }
  }
}
