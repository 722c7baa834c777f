package io.epochal.jdbc.commit

import java.sql.{Connection, ResultSet, SQLException}

import io.epochal.core.hash.Sha256
import io.epochal.jdbc.database.{BoundTable, Dialect, Replacement, Trust, Verification}
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

/** The table `epochal_ledger_verification`: the last comparison of each table with its source, and the last position of the source's log at
  * which the table was equal. For a table that is compared in chunks it has the sums of these, and in `until_key` the last key of
  * the latest one, until the last chunk. For people: no decision depends on it. All methods run in the caller's transaction.
  */
final private[jdbc] class VerificationTable(dialect: Dialect, trust: Trust, sinkId: String)
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
         |until_key $text, equal_position $text, equal_at $timestamp, PRIMARY KEY (sink_id, target)"""
    )
  }

  /** For people: the rows of the sink's tables. None if there is no such table, or this login may not read it. */
  def list[A](connection: Connection)(row: ResultSet => A): Seq[A] =
    if (!exists(connection)) Nil
    else {
      val before = connection.setSavepoint()
      try sql"SELECT * FROM $table WHERE sink_id = $sinkId ORDER BY target".query(connection)(row)
      catch { case error: SQLException if dialect.errors.denied(error) => connection.rollback(before); Nil }
    }

  def forget(connection: Connection): Unit = sql"DELETE FROM $table WHERE sink_id = $sinkId".run(connection)

  /** Replaces the previous result, or adds a chunk's result to that of the chunks before it. Returns the recorded result. */
  def record(connection: Connection, bound: BoundTable, verification: Verification): Verification = {
    val target = bound.table.name.toString
    def isOfTable = sql"sink_id = $sinkId AND target = $target"
    val previous = sql"SELECT * FROM $table WHERE $isOfTable".query(connection)(read).headOption
    val before = previous.getOrElse(verification.copy(until = None))
    val result =
      if (verification.after.isEmpty) verification
      else before.followedBy(verification.copy(after = verification.after.map(key)))
    def of(count: Replacement => Long) = result.result.toOption.map(count)
    if (previous.isEmpty)
      sql"INSERT INTO $table (sink_id, target, position, found, verified_at) VALUES ($sinkId, $target, '', '', $now)"
        .run(connection)
    sql"""UPDATE $table SET position = ${result.position}, equal_rows = ${of(_.equal)},
       |different_rows = ${of(_.different)}, missing_rows = ${of(_.missing)}, extra_rows = ${of(_.extra)},
       |other_rows = ${of(_.partial)}, verified_at = $now, until_key = ${result.until.map(key)},
       |found = ${bound.table.storable(text(result.copy(until = None)))} WHERE $isOfTable""".run(connection)
    if (result.isEqual && result.until.isEmpty)
      sql"UPDATE $table SET equal_position = ${result.position}, equal_at = $now WHERE $isOfTable".run(connection)
    result
  }
}

private[commit] object VerificationTable {
  val Name = "epochal_ledger_verification"
  private val LongestText = 200

  private def read(row: ResultSet): Verification = {
    val texts = row.getString("found").split("; ").toSeq
    val counts =
      Seq("equal_rows", "different_rows", "missing_rows", "extra_rows", "other_rows").flatMap(Sql.long(row, _))
    val result = counts match {
      case Seq(equal, different, missing, extra, other) => Right(Replacement(equal, different, missing, extra, other))
      case _                                            => Left(texts.head.stripPrefix(Verification.NotCompared))
    }
    Verification(
      row.getString("position"),
      result,
      texts.tail,
      isReplaced = texts.head.endsWith(Verification.Corrected),
      until = Option(row.getString("until_key")))
  }

  /** A key as the table has it: MySQL's texts are limited. */
  private def key(text: String): String = if (text.length > LongestText) Sha256.hex(text, 16) else text

  private def text(verification: Verification): String = {
    val whole = verification.toString
    if (whole.length > LongestText) whole.take(LongestText - 3) + "..." else whole
  }
}
