package io.epochal.testkit

import io.epochal.testkit.report.Promise

/** Promises of a source, with the names for reports and exemptions. */
object SourcePromises {

  // Streams, without a query.
  val OffsetRoundTrip = Promise("offset-round-trip", "an offset comes back from its JSON as the same JSON")
  val FutureVersion = Promise("future-version", "an offset of a later version is refused, naming both versions")
  val ForeignOffset = Promise("foreign-offset", "an offset of another source is refused")
  val InvalidOffset = Promise("invalid-offset", "what is no offset is refused")
  val FirstOffset = Promise("first-offset", "the first offset is the same after a restart")
  val EndFromOrigin =
    Promise("end-from-origin", "the end offset comes from what the origin holds: nothing new gives no batch")
  val EndCounts = Promise("end-counts", "the offset after all rows counts them all")
  val IdempotentPlan =
    Promise("idempotent-plan", "planning twice gives the same rows, on any number of partitions and after a restart")
  val OnceEach =
    Promise("once-each", "consecutive batches deliver every row once, with any limits and restarts")
  val KeepsRows = Promise("keeps-rows", "rows can be read again long after they were committed")
  val MaxRows = Promise("max-rows", "a maximum of rows is kept")
  val MinRows = Promise("min-rows", "a minimum of rows holds fewer back, and lets as many through")
  val CompositeLimit = Promise("composite-limit", "a composite of limits keeps each of them")
  val AvailableNow =
    Promise("available-now", "AvailableNow reads what exists at its start, in batches of the limit, and ends")
  val AvailableNowTarget =
    Promise("available-now-target", "AvailableNow reads nothing that is added after its start")
  val Commit = Promise(
    "commit",
    "a batch can be replayed after the batch before it was committed, and committing twice changes nothing")
  val Lag = Promise("lag", "lag is reported: the latest offset, and how far behind a consumed one is")

  // Queries.
  val Replay =
    Promise("replay", "a batch whose commit is missing from the checkpoint is replayed with the same rows")
  val CheckpointAlone = Promise(
    "checkpoint-alone",
    "everything that a restart needs is in the checkpoint: a copy of it resumes where it was taken")
  val QueryAvailableNow =
    Promise("query-available-now", "a query under AvailableNow ends, and the next one reads nothing again")
  val Restarts =
    Promise("restarts", "stopped and started at any moment, a query delivers every row once")
  val ToContinuous =
    Promise("to-continuous", "a continuous query continues where a micro-batch query stopped")
  val SteadyTasks = Promise(
    "steady-tasks",
    "after a restart, each task of a continuous query continues with the rows that it would have delivered")
  val FromRealTime =
    Promise("from-real-time", "a micro-batch query continues where a real-time query stopped")

  /** In the order of the checks. */
  val ofQueries: Seq[Promise] =
    Seq(Replay, CheckpointAlone, QueryAvailableNow, Restarts, ToContinuous, SteadyTasks, FromRealTime)

  // Queries whose process is killed.
  val Acknowledged =
    Promise("acknowledged", "what was added before the process is killed is delivered, though no offset names it yet")
  val KillAfterOffsets =
    Promise("kill-after-offsets", "killed after a batch's offsets were logged, the query delivers every row once")
  val KillInTasks =
    Promise("kill-in-tasks", "killed while tasks read, the query delivers every row once")
  val KillBeforeSinkCommit =
    Promise("kill-before-sink-commit", "killed before the sink's commit, the query delivers every row once")
  val KillBeforeCommitLog = Promise(
    "kill-before-commit-log",
    "killed after the sink's commit and before Spark's, the query delivers the same batch again")

  /** In the order of the checks. */
  val ofKills: Seq[Promise] =
    Seq(Acknowledged, KillAfterOffsets, KillInTasks, KillBeforeSinkCommit, KillBeforeCommitLog)
}
