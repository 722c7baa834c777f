package io.epochal.cdc.snapshot

import java.sql.Connection

import scala.util.Try

import org.postgresql.PGConnection

import io.epochal.cdc.change.{ChangeIntake, FrameBuilder, RowChange}

/** Reads the rows of a table in the order of its key. */
final private[snapshot] class TableRows(source: CopiedTable) {
  import TableRows._

  /** Taken before the snapshot: in an older snapshot, a table that ALTER TABLE has rewritten looks empty. */
  val lock: String = s"LOCK TABLE ${source.table.rows} IN ACCESS SHARE MODE"

  private val reader = source.key.flatMap(_.reader(source.relation))

  /** Texts of the key that the server adds to each row: none for most keys, since printing is slow. */
  private val beside = if (reader.isEmpty) source.key.toSeq.flatMap(_.printed) else Nil

  /** Adds rows to a builder. Returns the key of the last one; None: there are none, or the table has no key.
    *
    * @param from
    *   the key that they follow
    * @param until
    *   the key of the last one
    * @param limit
    *   of their number
    * @param keep
    *   called with the key of the last row when the builder has a frame, which it takes; returns whether to continue
    */
  def read(
      connection: Connection,
      from: Option[Seq[String]],
      until: Option[Seq[String]],
      limit: Option[Long],
      builder: FrameBuilder)(keep: Seq[String] => Boolean): Option[Seq[String]] = {
    val copy = connection.unwrap(classOf[PGConnection]).getCopyAPI.copyOut(select(from, until, limit))
    val row = new CopiedRow(beside.size, source.binary)
    def key = reader.fold(row.key)(_(row.tuple))
    var (begin, isEmpty, continues) = (CopyHeader, true, true)
    try {
      var message = copy.readFromCopy()
      while (message != null) {
        if (row.isIn(message, begin)) {
          // The last frame of a range has a row: it says that the range is done.
          if (builder.size >= ChangeIntake.FrameBytes) continues = keep(key)
          if (continues) {
            row.read(message, begin)
            builder.add(RowChange.Insert, source.relation, None, Some(row.tuple))
            isEmpty = false
          }
        }
        begin = 0
        message = if (continues) copy.readFromCopy() else null
      }
      Option.unless(isEmpty || source.key.isEmpty)(key)
    } finally
      // An error of a lost connection would hide the first one.
      Try(if (copy.isActive) copy.cancelCopy()): Unit
  }

  private def select(from: Option[Seq[String]], until: Option[Seq[String]], limit: Option[Long]): String = {
    val conditions = source.key.toSeq.flatMap(key => from.map(key.after) ++ until.map(key.upTo))
    val where = if (conditions.isEmpty) "" else conditions.mkString(" WHERE ", " AND ", "")
    val order = source.key.fold("")(key => s" ORDER BY ${key.order}")
    val list = beside ++ source.columns
    val rows =
      s"SELECT ${list.mkString(", ")} FROM ${source.table.rows} AS t$where$order${limit.fold("")(n => s" LIMIT $n")}"
    s"COPY ($rows) TO STDOUT (FORMAT binary)"
  }
}

private object TableRows {

  /** Bytes before the first row: signature, flags, and the length of an extension, which is empty. */
  val CopyHeader = 19
}
