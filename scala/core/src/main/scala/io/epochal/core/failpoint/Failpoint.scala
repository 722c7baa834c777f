package io.epochal.core.failpoint

/** A step of a sink or source at which a test can inject a failure. */
final class Failpoint private (val name: String) {
  override def toString: String = name
}

object Failpoint {
  private val points = Seq.newBuilder[Failpoint]

  val BeforeClaim: Failpoint = step("claim.before")
  val AfterClaim: Failpoint = step("claim.after")
  val BeforeTaskCommit: Failpoint = step("task.before-commit")
  val AfterTaskCommit: Failpoint = step("task.after-commit")

  /** An attempt's rows are in staging; its commit message is not sent. */
  val TaskStaged: Failpoint = step("task.staged")

  /** An attempt's transaction is prepared; its commit message is not sent. */
  val TaskPrepared: Failpoint = step("task.prepared")
  val BeforeLedgerLock: Failpoint = step("ledger.before-lock")
  val AfterLoad: Failpoint = step("rows.loaded")
  val LedgerWritten: Failpoint = step("ledger.written")
  val BeforeCommit: Failpoint = step("commit.before")
  val AfterCommit: Failpoint = step("commit.after")

  /** Before and after each COMMIT PREPARED. */
  val BeforeCommitPrepared: Failpoint = step("prepared.before-commit")
  val AfterCommitPrepared: Failpoint = step("prepared.after-commit")

  /** Before and after the COMMIT of rows stored in the middle of an epoch. */
  val BeforeFlushCommit: Failpoint = step("flush.before-commit")
  val AfterFlushCommit: Failpoint = step("flush.after-commit")

  /** Before removing data that no epoch needs. */
  val BeforeCleanup: Failpoint = step("cleanup.before")

  /** The first offset of a stream is stored. */
  val FirstOffset: Failpoint = step("offset.first")

  /** A frame of rows that are acknowledged once they are durable is written, and synced. */
  val FrameWritten: Failpoint = step("journal.written")
  val FrameSynced: Failpoint = step("journal.synced")

  /** Segments that no replay needs are removed. */
  val SegmentsRemoved: Failpoint = step("journal.removed")

  /** The server has the publication of a change capture, and its slot. */
  val PublicationCreated: Failpoint = step("capture.publication")
  val SlotCreated: Failpoint = step("capture.slot")

  /** Rows of the snapshot are durable: a frame, the last one of a range, all. */
  val RowsCopied: Failpoint = step("capture.rows")
  val RangeCopied: Failpoint = step("capture.range")
  val SnapshotCopied: Failpoint = step("capture.snapshot")

  /** Changes are durable; the last transaction is, although it has no rows; both before they are confirmed to the server. */
  val ChangesStored: Failpoint = step("capture.changes")
  val WitnessStored: Failpoint = step("capture.witness")
  val ChangesConfirmed: Failpoint = step("capture.confirmed")

  /** The request of a reload is durable; the table's rows are copied, before the mark in the log; copy and changes are complete, before
    * the journal has them; it has them, before the files are removed.
    */
  val ReloadRequested: Failpoint = step("reload.requested")
  val ReloadCopied: Failpoint = step("reload.copied")
  val ReloadComplete: Failpoint = step("reload.complete")
  val ReloadStored: Failpoint = step("reload.stored")

  val all: Seq[Failpoint] = points.result()

  private def step(name: String): Failpoint = {
    val point = new Failpoint(name)
    points += point
    point
  }
}
