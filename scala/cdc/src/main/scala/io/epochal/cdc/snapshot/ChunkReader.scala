package io.epochal.cdc.snapshot

import java.sql.{Connection, SQLException}

import scala.annotation.tailrec
import scala.util.Try

import io.epochal.cdc.change._
import io.epochal.cdc.slot.CaptureServer
import io.epochal.kit.database.Sql

/** Reads chunks of a table, each in a transaction of its own.
  *
  * @param check
  *   refuses a table that has changed
  * @param store
  *   keeps a frame
  * @param wait
  *   called after each frame
  */
final private[cdc] class ChunkReader(
    server: CaptureServer,
    source: CopiedTable,
    check: Connection => Unit,
    store: ChangeFrame => Unit,
    wait: () => Unit) {
  import ChunkReader._

  private val rows = new TableRows(source)

  /** Copies the rows after a key. Returns the snapshot of the server in which they were read, and the key of the last one if a limit
    * ended the chunk; None: the table ends here.
    *
    * @param limit
    *   of the number of rows
    * @param isFirstCopy
    *   whether this stream has delivered no copy of the table yet
    * @param showsRecentCommits
    *   whether a snapshot shows the last transactions that the stream has read
    * @throws NotVisible
    *   no snapshot did for a while
    */
  def copy(after: Option[Seq[String]], limit: Long, isFirstCopy: Boolean)(
      showsRecentCommits: ServerSnapshot => Boolean): (ServerSnapshot, Option[Seq[String]]) =
    server.once { connection =>
      // Of transactions that an earlier run has read, the rows may not be visible yet.
      if (isFirstCopy) {
        RunningTransactions.awaitWriters(connection, source.table)
        RunningTransactions.awaitCommits(connection)
      }
      connection.setAutoCommit(false)
      try {
        val view = awaitSnapshot(connection, System.nanoTime() + VisibleNanos, showsRecentCommits)
        check(connection)
        val builder = new FrameBuilder
        var (copiedRows, bytes) = (0L, 0L)
        def end(): Unit = if (builder.rows > 0) {
          builder.end(complete = true): Unit
          val frame = builder.frame(ChangeState.Empty)
          copiedRows += frame.rows
          bytes += frame.payload.length
          store(frame)
          wait()
        }
        builder.beginRows()
        val last = rows.read(connection, after, None, Some(limit), builder) { _ =>
          end()
          builder.beginRows()
          bytes < MaxBytes
        }
        end()
        view -> last.filter(_ => copiedRows == limit || bytes >= MaxBytes)
      } finally
        // An error of a lost connection would hide the first one.
        Try(connection.rollback()): Unit
    }

  @tailrec
  private def awaitSnapshot(
      connection: Connection,
      end: Long,
      showsRecentCommits: ServerSnapshot => Boolean): ServerSnapshot = {
    val view = Sql
      .queryAll(connection, Seq(Sql.raw(Snapshot.Begin), Sql.raw(rows.lock), Sql.raw(s"SELECT ${Snapshot.View}")))(
        (_, row) => ServerSnapshot(row.getString(1), row.getLong(2)))
      .last
      .head
    if (showsRecentCommits(view)) view
    else {
      connection.rollback()
      if (System.nanoTime() > end) throw NotVisible
      Thread.sleep(VisiblePause)
      awaitSnapshot(connection, end, showsRecentCommits)
    }
  }
}

private[cdc] object ChunkReader {

  object NotVisible extends SQLException("a transaction that was delivered is not yet visible", "08000")

  /** How long a transaction that was delivered may take to become visible. */
  private val VisibleNanos = 10000L * 1000000L

  /** Milliseconds. */
  private val VisiblePause = 20L

  /** Bytes at which a chunk ends, with the frame that exceeds them. */
  private val MaxBytes: Long = 64L << 20
}
