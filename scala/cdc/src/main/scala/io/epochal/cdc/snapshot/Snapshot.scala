package io.epochal.cdc.snapshot

import java.sql.{Connection, SQLException}
import java.util.concurrent.{
  Callable,
  CancellationException,
  CompletableFuture,
  ConcurrentLinkedQueue,
  ExecutionException,
  Executors
}

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.slf4j.LoggerFactory

import io.epochal.cdc.change._
import io.epochal.cdc.slot.CaptureServer
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

/** Copies the rows of a table into the journal: ranges of its key in parallel, each in the order of the key, all in one snapshot of
  * the server. A run that was killed is followed by one that reads the rest, in a later snapshot.
  *
  * @param lsn
  *   of the rows: before all changes
  * @param check
  *   refuses a table that has changed, as the snapshot of the server has it
  * @param store
  *   makes a frame durable; one thread at a time
  * @param awaitsWriters
  *   whether to wait first for the transactions that are writing to the table: the log may lack what they wrote before the publication
  *   had it
  */
final private[cdc] class Snapshot(
    server: CaptureServer,
    source: CopiedTable,
    lsn: Long,
    threads: Int,
    check: Connection => Unit,
    store: ChangeFrame => Unit,
    wait: () => Unit,
    awaitsWriters: Boolean = false) {
  import Snapshot._

  private val rows = new TableRows(source)

  /** Reads what is left, and returns the state afterwards.
    *
    * @throws SQLException
    *   if a connection is lost, and the server's snapshot with it; what was appended stays
    */
  def run(first: ChangeState): ChangeState = server.once { connection =>
    if (awaitsWriters) RunningTransactions.awaitWriters(connection, source.table)
    if (first.snapshots.isEmpty) RunningTransactions.awaitCommits(connection)
    run(connection, first)
  }

  private def run(connection: Connection, first: ChangeState): ChangeState = {
    connection.setAutoCommit(false)
    val (id, view, at) = Sql
      .queryAll(connection, Seq(Sql.raw(Begin), Sql.raw(rows.lock), Sql.raw(Export)))((_, rows) =>
        (rows.getString(1), ServerSnapshot(rows.getString(2), rows.getLong(3)), rows.getLong(4)))
      .last
      .head
    check(connection)
    val before = first.snapshot(source.number)
    val bounds = if (before.runs.isEmpty) divide(connection) else before.bounds
    val snapshot = before.copy(rows = first.snapshotRows, bounds = bounds, runs = before.runs :+ view)
    // The clock may have gone back since another table was read.
    val stamp = math.max(at, first.snapshotStamp)
    val progress =
      new Progress(first.withSnapshot(source.number, snapshot), CommittedTransaction(lsn, xid = 0, at, stamp))
    val ranges = new ConcurrentLinkedQueue(progress.snapshot.left.map(Int.box).asJava)
    val number = math.max(1, math.min(threads, ranges.size))
    val workers = Executors.newFixedThreadPool(number, new DaemonThreads("epochal-cdc-snapshot"))
    val onDisk = new CompletableFuture[Unit]
    // Else a crash may take back what the snapshot shows, and other transactions get the same numbers.
    def flush(of: Connection): Unit =
      try {
        Sql.run(of, Flush)
        onDisk.complete(()): Unit
      } catch {
        case error: Throwable =>
          onDisk.completeExceptionally(error): Unit
          throw error
      }
    try {
      val reads = (0 until number).map { worker =>
        workers.submit(new Callable[Unit] {
          private var hasBegun = false
          override def call(): Unit =
            try
              server.once { own =>
                if (worker == 0) flush(own) else onDisk.get()
                begin(own, id)
                hasBegun = true
                read(own, ranges, progress)
              }
            catch {
              // The others read its ranges.
              case error: SQLException if worker > 0 && !hasBegun =>
                log.warn(s"${source.table.name} is copied by fewer connections: ${server.explain(error).problem}")
            }
        })
      }
      reads.foreach(_.get())
    } catch {
      case error: ExecutionException =>
        // With its session the server forgets the snapshot.
        throw if (connection.isValid(SecondsToAnswer)) error.getCause
        else new SQLException("the server's snapshot was lost", "08006", error.getCause)
    } finally {
      progress.close()
      workers.shutdownNow()
      // If it threw, the rows would be read from the beginning again.
      Try(connection.rollback()): Unit
    }
    progress.state
  }

  /** The state, shared by the threads. */
  final private class Progress(first: ChangeState, transaction: CommittedTransaction) {
    private val run = first.snapshot(source.number).runs.size - 1
    private var current = first

    /** Set at the end: nothing is written afterwards, since another run may have begun. */
    private var end = Option.empty[Throwable]

    def state: ChangeState = synchronized(current)

    def close(): Unit = synchronized { end = end.orElse(Some(new CancellationException("the snapshot has ended"))) }

    def snapshot: SnapshotState = state.snapshot(source.number)

    def begin(builder: FrameBuilder): Unit = builder.begin(transaction, 0, new java.util.zip.CRC32C)

    /** Writes rows of a range up to a key, or to its end. */
    def write(builder: FrameBuilder, range: Int, until: Option[Seq[String]]): Unit = synchronized {
      end.foreach(throw _)
      try append(builder, range, until)
      catch {
        case error: Throwable =>
          end = Some(error)
          throw error
      }
    }

    private def append(builder: FrameBuilder, range: Int, until: Option[Seq[String]]): Unit = {
      val snapshot = this.snapshot
      val next = snapshot.range(range).after(run, until)
      builder.end(complete = true): Unit
      builder.shift(snapshot.rows)
      val note = SnapshotState.note(Map(source.number -> snapshot.copy(ranges = Map(range -> next))))
      val frame = builder.frame(current, note)
      store(frame)
      current = frame.after
    }

    /** Notes that a range has no rows left. */
    def skip(range: Int): Unit = synchronized {
      val snapshot = this.snapshot
      val ranges = snapshot.ranges + (range -> snapshot.range(range).after(run, None))
      current = current.withSnapshot(source.number, snapshot.copy(ranges = ranges))
    }
  }

  /** NOWAIT: queueing behind a statement that waits for the first connection's lock would be a deadlock that the server cannot detect.
    */
  private def begin(connection: Connection, id: String): Unit = {
    connection.setAutoCommit(false)
    Sql.run(connection, s"$Begin; ${rows.lock} NOWAIT; SET TRANSACTION SNAPSHOT '$id'")
  }

  private def read(connection: Connection, ranges: ConcurrentLinkedQueue[Integer], progress: Progress): Unit = {
    Iterator.continually(ranges.poll()).takeWhile(_ != null).foreach(read(connection, _, progress))
    // An error of a lost connection would hide the first one.
    Try(connection.rollback()): Unit
  }

  private def read(connection: Connection, range: Int, progress: Progress): Unit = {
    val snapshot = progress.snapshot
    val from = snapshot.range(range).last.filter(_.nonEmpty).orElse(Option.when(range > 0)(snapshot.bounds(range - 1)))
    val builder = new FrameBuilder
    progress.begin(builder)
    rows.read(connection, from, snapshot.bounds.lift(range), None, builder) { key =>
      progress.write(builder, range, Some(key))
      wait()
      progress.begin(builder)
      true
    }: Unit
    if (builder.rows > 0) progress.write(builder, range, None) else progress.skip(range)
    Failpoints.reach(Failpoint.RangeCopied)
  }

  /** Keys between ranges of about the same size, from a sample. */
  private def divide(connection: Connection): Seq[Seq[String]] =
    source.key.filter(_ => source.table.kind != "p").fold(Seq.empty[Seq[String]]) { key =>
      val order = key.order
      val sample = Sql.query(
        connection,
        text"""SELECT ${key.printed.mkString(", ")} FROM (
           |  SELECT $order, $Part, lead($Part) OVER (ORDER BY $order) AS $NextPart FROM (
           |    SELECT $order, ntile((SELECT LEAST($Ranges, GREATEST($FewRanges,
           |        pg_catalog.pg_relation_size(${source.table.oid}) / $RangeBytes))::int)) OVER (ORDER BY $order) AS $Part FROM ${source.table.rows} AS t
           |    TABLESAMPLE SYSTEM ((SELECT LEAST(100, 100.0 * $SampledPages / GREATEST(1, relpages))
           |      FROM pg_catalog.pg_class WHERE oid = ${source.table.oid})) REPEATABLE (1)) AS t) AS t
           |WHERE $Part <> $NextPart ORDER BY $order"""
      )(rows => key.printed.indices.map(i => rows.getString(i + 1)))
      sample.distinct
    }
}

private[cdc] object Snapshot {

  /** Ranges of a table, and of a small one: each is a round trip. */
  private val Ranges = 16
  private val FewRanges = 4
  private val RangeBytes = 1 << 20

  private val log = LoggerFactory.getLogger(classOf[Snapshot])

  private val SecondsToAnswer = 5

  /** Pages from which the bounds of ranges are taken. */
  private val SampledPages = 1000

  /** Columns beside those of a key, which may have any name. */
  private val Part = "\"part of the sample\""
  private val NextPart = "\"next part of the sample\""

  val Begin = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"

  /** The columns of a [[ServerSnapshot]]. */
  val View = "pg_catalog.pg_current_snapshot()::text, (pg_catalog.pg_current_wal_insert_lsn() - '0/0')::bigint"

  private val Export =
    s"""SELECT pg_catalog.pg_export_snapshot(), $View,
       |  (extract(epoch FROM clock_timestamp()) * 1000000)::bigint""".stripMargin

  /** A commit that waits until the log is on the server's disk. */
  private val Flush =
    "SET synchronous_commit TO local; SELECT pg_catalog.pg_logical_emit_message(true, 'epochal', '')"
}
