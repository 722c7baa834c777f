package io.epochal.core.error

/** Of looking into checkpoints and ledgers, and of repairing them: a part of [[Conditions]]. */
private[error] trait RepairConditions {

  val CheckpointNotFound = Condition(
    "CHECKPOINT_NOT_FOUND",
    "There is no checkpoint at <path>: <reason>.",
    "Give the directory that the query has as checkpointLocation (checkpoint=… in Python)."
  )
  val LedgerNotFound = Condition(
    "LEDGER_NOT_FOUND",
    "There is no table epochal_ledger in <url>.",
    "The ledger is in the schema of the table that the sink writes: name that schema, or the right database. The first epoch of a query creates the ledger."
  )
  val SinkNotFound = Condition(
    "SINK_NOT_FOUND",
    "The ledger in <url> has no sink '<sinkId>'. <known>",
    "Name one of these: without the option sinkId, a sink has the id of its query."
  )
  val RepairRefused = Condition(
    "REPAIR_REFUSED",
    "The ledger's row of sink '<sinkId>' has changed since it was read: from <shown> to <found>. A run of the query is active.",
    "Nothing was changed. Stop the query, read the row again, and repeat the repair."
  )
}
