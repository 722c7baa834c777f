package io.epochal.testkit

import io.epochal.testkit.report.Promise

/** Promises of an exactly-once sink, with the names for reports and exemptions. */
object SinkPromises {

  // Epochs, without a query.
  val DriverCommits = Promise("driver-commits", "rows appear with the driver's commit, and not before")
  val EpochsFollow = Promise("epochs-follow", "epochs follow each other, in one run and in later ones")
  val EpochReplay =
    Promise("epoch-replay", "a replayed epoch is a no-op, in the same run and after a restart, on other partitions")
  val OtherRows =
    Promise("other-rows", "an epoch replayed with other rows for the same offsets is kept as it was")
  val OtherOffsets =
    Promise("other-offsets", "an epoch replayed with other offsets is an error, and nothing is written")
  val EpochGap = Promise("epoch-gap", "an epoch after a gap is an error, and nothing is written")
  val EpochRegressed =
    Promise("epoch-regressed", "an epoch older than the last is an error, and nothing is written")
  val LedgerEmpty = Promise("ledger-empty", "a first epoch that is not 0 is an error: what was before it is not known")
  val EmptyEpoch = Promise("empty-epoch", "an epoch without rows counts")
  val NamedAttempts = Promise("named-attempts", "only the attempts that the driver names are stored")
  val AbortLeavesNothing =
    Promise("abort-leaves-nothing", "an aborted epoch leaves nothing, and can be written afterwards")
  val AbortAfterCommit = Promise("abort-after-commit", "abort after a commit undoes nothing")
  val Fencing =
    Promise("fencing", "a run that was replaced writes nothing more, in any epoch")
  val OtherQuery =
    Promise("other-query", "another query on the same sink is an error, and nothing is written")

  // Queries.
  val Replay = Promise("replay", "an epoch whose commit is missing from the checkpoint is written once")
  val Restarts = Promise("restarts", "stopped and started at any moment, a query writes every row once")
  val WholeEpochs = Promise("whole-epochs", "readers see an epoch whole or not at all")
  val NewQuery = Promise("new-query", "a query with a new checkpoint is refused by a target that another one wrote to")

  // Queries whose process is killed.
  val KillAfterOffsets =
    Promise("kill-after-offsets", "killed after an epoch's offsets were logged, the query writes every row once")
  val KillInTasks =
    Promise("kill-in-tasks", "killed while tasks write, no row of the epoch is visible, and later every row once")
  val KillBeforeSinkCommit = Promise(
    "kill-before-sink-commit",
    "killed after its tasks and before the commit, no row of the epoch is visible, and later every row once")
  val RowsWithLedger = Promise(
    "rows-with-ledger",
    "killed during the commit, the epoch is there once: its rows commit together with the record that it was applied")
  val KillBeforeCommitLog = Promise(
    "kill-before-commit-log",
    "killed after the commit and before Spark's, the epoch is replayed and not written twice")
  val KillAfterCommitLog =
    Promise("kill-after-commit-log", "killed after Spark logged the commit, the query continues with the next epoch")

  /** In the order of the checks. */
  val ofKills: Seq[Promise] =
    Seq(KillAfterOffsets, KillInTasks, KillBeforeSinkCommit, RowsWithLedger, KillBeforeCommitLog, KillAfterCommitLog)

  // Queries with endless tasks.
  val Continuous = Promise(
    "continuous",
    "killed in the middle of a continuous query, every row is written once; or the trigger is refused by name")
  val RealTime = Promise(
    "real-time",
    "killed in the middle of a real-time query, every row is written once; or the trigger is refused by name")

  /** In the order of the checks. */
  val ofModes: Seq[Promise] = Seq(Continuous, RealTime)
}
