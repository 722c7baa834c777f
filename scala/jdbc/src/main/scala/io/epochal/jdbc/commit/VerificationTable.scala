package io.epochal.jdbc.commit

import java.sql.Connection

import io.epochal.jdbc.database.{BoundTable, Dialect, Replacement, Trust, Verification}
import io.epochal.kit.database.SqlText._

/** The table `epochal_ledger_verification`: the last comparison of each table with its source, and the last position of the source's log at
  * which the table was equal. For people: no decision depends on it. All methods run in the caller's transaction.
  */
final private[commit] class VerificationTable(dialect: Dialect, trust: Trust, sinkId: String)
    extends KeptTables(dialect, trust) {
  import VerificationTable._

  private val table = quoted(Name)

  def exists(connection: Connection): Boolean = exists(connection, Name)

  def create(connection: Connection): Unit = {
    import words.{bigint, text, timestamp}
    make(
      connection,
      Name,
      text"""sink_id $text NOT NULL, target $text NOT NULL, position $text NOT NULL, equal_rows $bigint, different_rows $bigint,
         |missing_rows $bigint, extra_rows $bigint, other_rows $bigint, found $text NOT NULL, verified_at $timestamp NOT NULL,
         |equal_position $text, equal_at $timestamp, PRIMARY KEY (sink_id, target)"""
    )
  }

  def forget(connection: Connection): Unit = sql"DELETE FROM $table WHERE sink_id = $sinkId".run(connection)

  /** Replaces the previous result. */
  def record(connection: Connection, bound: BoundTable, verification: Verification): Unit = {
    val target = bound.table.name.toString
    def isOfTable = sql"sink_id = $sinkId AND target = $target"
    val rows = sql"SELECT target FROM $table WHERE $isOfTable".query(connection)(_.getString(1))
    val position = verification.position
    val counts = verification.result.toOption
    def of(count: Replacement => Long) = counts.map(count)
    if (rows.isEmpty)
      sql"INSERT INTO $table (sink_id, target, position, found, verified_at) VALUES ($sinkId, $target, $position, '', $now)"
        .run(connection)
    sql"""UPDATE $table SET position = $position, equal_rows = ${of(_.equal)}, different_rows = ${of(_.different)},
       |missing_rows = ${of(_.missing)}, extra_rows = ${of(_.extra)}, other_rows = ${of(_.partial)},
       |found = ${bound.table.storable(text(verification))}, verified_at = $now WHERE $isOfTable""".run(connection)
    if (verification.isEqual)
      sql"UPDATE $table SET equal_position = $position, equal_at = $now WHERE $isOfTable".run(connection)
  }
}

private[commit] object VerificationTable {
  val Name = "epochal_ledger_verification"
  private val LongestText = 200

  private def text(verification: Verification): String = {
    val whole = verification.toString
    if (whole.length > LongestText) whole.take(LongestText - 3) + "..." else whole
  }
}
