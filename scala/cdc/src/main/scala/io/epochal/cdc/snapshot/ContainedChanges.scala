package io.epochal.cdc.snapshot

import java.lang.Long.compareUnsigned

import io.epochal.cdc.change.{CapturedTable, ChangeState, ServerSnapshot, SnapshotState, SnapshotView}
import io.epochal.cdc.pgoutput.Bytes
import io.epochal.core.error.Conditions

/** Which changes are already contained in a snapshot: those of transactions that were in the server's snapshot in which a row was
  * read. Rows that a killed run and its successor have read belong to different ones.
  *
  * Decided by transaction numbers, not by positions in the log: a commit is streamed before other sessions see it.
  *
  * @param locate
  *   the part of the table to which the key of each row belongs, counted in the order of keys over all `bounds`
  */
final private[cdc] class ContainedChanges(
    snapshot: SnapshotState,
    locate: (CapturedTable, Seq[Bytes], Seq[Seq[String]]) => Seq[Int])
    extends SnapshotView {

  /** The parts of the table in the order of their keys, each with the run that read it, and its last key; none for the last. */
  private val parts: Seq[(Int, Option[Seq[String]])] = (0 to snapshot.bounds.size).flatMap { number =>
    val bound = snapshot.bounds.lift(number)
    val read = snapshot.range(number).parts
    // The last run has read what is not mentioned: it was empty.
    val all = if (read.lastOption.exists(_._2.isEmpty)) read else read :+ (snapshot.runs.size - 1 -> None)
    all.map { case (run, key) => run -> key.orElse(bound) }
  }
  private val bounds = parts.flatMap(_._2)

  /** Part numbers of the prepared rows. */
  private var places = Map.empty[Bytes, Int]

  override val preparedUntil: Long = if (snapshot.runs.size < 2) 0L else ContainedChanges.end(snapshot.runs)

  override def prepare(rows: Seq[(CapturedTable, Bytes)]): Unit =
    places = rows.groupMap(_._1)(_._2).flatMap { case (table, tuples) => tuples.zip(locate(table, tuples, bounds)) }

  override def of(lsn: Long, xid: Int): Option[(CapturedTable, Bytes) => Boolean] = {
    val hits = snapshot.runs.map(_.contains(lsn, xid))
    if (!hits.contains(true)) None
    else if (!hits.contains(false)) Some(SnapshotView.Everything)
    else Some((table, row) => hits(parts(places.getOrElse(row, locate(table, Seq(row), bounds).head))._1))
  }

  /** Rows read before the TRUNCATE and rows read after it can no longer be distinguished. */
  override def containsTruncate(table: CapturedTable, lsn: Long, xid: Int): Boolean = {
    val hits = snapshot.runs.map(_.contains(lsn, xid)).distinct
    if (hits.size > 1)
      throw Conditions.TableTruncated.withHint("Load the table again: start the query with a new checkpoint.")(
        "table" -> table.relation.name)
    hits.contains(true)
  }
}

private object ContainedChanges {

  /** Where the last of the server's snapshots was taken. */
  def end(runs: Iterable[ServerSnapshot]): Long = last(runs.map(_.lsn))

  def last(positions: Iterable[Long]): Long =
    positions.foldLeft(0L)((one, other) => if (compareUnsigned(one, other) > 0) one else other)
}

/** The same for several tables, each with a snapshot of its own. */
final private[cdc] class ContainedInTables(
    state: ChangeState,
    locate: (CapturedTable, Seq[Bytes], Seq[Seq[String]]) => Seq[Int])
    extends SnapshotView {
  private val tables = state.snapshots.map { case (table, snapshot) => table -> new ContainedChanges(snapshot, locate) }
  private val end = ContainedChanges.end(state.runs)

  override val preparedUntil: Long = ContainedChanges.last(tables.values.map(_.preparedUntil))

  override def prepare(rows: Seq[(CapturedTable, Bytes)]): Unit = rows.groupBy(_._1.relation.oid).foreach {
    case (table, rows) => tables.get(table).filter(_.preparedUntil != 0).foreach(_.prepare(rows))
  }

  override def of(lsn: Long, xid: Int): Option[(CapturedTable, Bytes) => Boolean] =
    if (compareUnsigned(lsn, end) >= 0) None
    else {
      val hits = tables.flatMap { case (table, changes) => changes.of(lsn, xid).map(table -> _) }
      Option.when(hits.nonEmpty)((table, row) => hits.get(table.relation.oid).exists(_(table, row)))
    }

  override def containsTruncate(table: CapturedTable, lsn: Long, xid: Int): Boolean =
    tables.get(table.relation.oid).exists(_.containsTruncate(table, lsn, xid))
}
