package io.epochal.cdc.snapshot

import java.lang.Long.compareUnsigned

import io.epochal.cdc.change.{Captured, ChangeState, Contained, SnapshotState}
import io.epochal.cdc.pgoutput.Bytes
import io.epochal.core.error.Conditions

/** Which changes the rows of a snapshot show already: those of transactions that were in the server's snapshot in which a row was
  * read. Rows that a killed run and its successor have read belong to different ones.
  *
  * Decided by transaction numbers, not by positions in the log: a commit is streamed before other sessions see it.
  *
  * @param locate
  *   the part of the table to which a key belongs, counted in the order of keys over all `bounds`
  */
final private[cdc] class ContainedChanges(snapshot: SnapshotState, locate: (Captured, Bytes, Seq[Seq[String]]) => Int)
    extends Contained {

  /** The parts of the table in the order of their keys, each with the run that read it, and its last key; none for the last. */
  private val parts: Seq[(Int, Option[Seq[String]])] = (0 to snapshot.bounds.size).flatMap { number =>
    val bound = snapshot.bounds.lift(number)
    val found = snapshot.range(number).parts
    // The last run has read what is not mentioned: it was empty.
    val all = if (found.lastOption.exists(_._2.isEmpty)) found else found :+ (snapshot.runs.size - 1 -> None)
    all.map { case (run, key) => run -> key.orElse(bound) }
  }
  private val bounds = parts.flatMap(_._2)

  override def of(lsn: Long, xid: Int): Option[(Captured, Bytes) => Boolean] = {
    val shown = snapshot.runs.map(_.contains(lsn, xid))
    if (!shown.contains(true)) None
    else if (!shown.contains(false)) Some((_, _) => true)
    else Some((table, row) => shown(parts(locate(table, row, bounds))._1))
  }

  /** Rows read before the TRUNCATE and rows read after it can no longer be distinguished. */
  override def showsTruncate(table: Captured, lsn: Long, xid: Int): Boolean = {
    val shown = snapshot.runs.map(_.contains(lsn, xid)).distinct
    if (shown.size > 1)
      throw Conditions.TableTruncated.withHint("Load the table again: start the query with a new checkpoint.")(
        "table" -> table.relation.name)
    shown.contains(true)
  }
}

/** The same for several tables, each with a snapshot of its own. */
final private[cdc] class ContainedInTables(state: ChangeState, locate: (Captured, Bytes, Seq[Seq[String]]) => Int)
    extends Contained {
  private val tables = state.snapshots.map { case (table, snapshot) => table -> new ContainedChanges(snapshot, locate) }
  private val end =
    state.runs.map(_.lsn).maxOption(Ordering.fromLessThan[Long](compareUnsigned(_, _) < 0)).getOrElse(0L)

  override def of(lsn: Long, xid: Int): Option[(Captured, Bytes) => Boolean] =
    if (compareUnsigned(lsn, end) >= 0) None
    else {
      val shown = tables.flatMap { case (table, changes) => changes.of(lsn, xid).map(table -> _) }
      Option.when(shown.nonEmpty)((table, row) => shown.get(table.relation.oid).exists(_(table, row)))
    }

  override def showsTruncate(table: Captured, lsn: Long, xid: Int): Boolean =
    tables.get(table.relation.oid).exists(_.showsTruncate(table, lsn, xid))
}
