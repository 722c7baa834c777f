package io.epochal.core.error

/** Of rows that are stored in the middle of an epoch, by continuous and real-time queries: a part of [[Conditions]]. */
private[error] trait ProgressConditions {

  val RowsNotRepeated = Condition(
    "ROWS_NOT_REPEATED",
    "Partition <partition> of sink '<sinkId>' delivered other rows than before: its first <rows> rows are in the table with digest <known>, and now have digest <found>.",
    "Nothing was stored twice. A restart must deliver the same rows in the same order: take out of the query what differs from run to run (rand(), current_timestamp(), such a UDF), or use a source that can repeat its rows."
  )
  val RowsOwed = Condition(
    "ROWS_OWED",
    "Sink '<sinkId>' has stored <owed> rows beyond the end of epoch <last>, under the <known> trigger in <partitions> partitions. With <change> they would be stored again.",
    "Nothing was written. Run the query as before, and change it when it was stopped while no rows came in."
  )
  val ProgressLost = Condition(
    "PROGRESS_LOST",
    "The ledger of sink '<sinkId>' does not show what epoch <epoch> begins with: <reason>.",
    "The database was restored or failed over to an earlier state, or the ledger's tables were changed. Go back to that state with the checkpoint too, or check the table and begin again, with a new checkpoint and: epochal ledger forget"
  )
  val FlushOvertaken = Condition(
    "FLUSH_OVERTAKEN",
    "Another attempt of partition <partition> of sink '<sinkId>' stores its rows: the ledger shows <found> rows stored, this attempt knows of <known>.",
    "Nothing was stored twice. Spark tries the task again; speculative copies (spark.speculation) are of no use here."
  )
  val RunFailed = Condition(
    "RUN_FAILED",
    "This run of sink '<sinkId>' has failed and stores nothing more: <reason>",
    "See what that says, and start the query again on its checkpoint."
  )
  val EpochLoggedByOther = Condition(
    "EPOCH_LOGGED_BY_OTHER",
    "The offsets of epoch <epoch> of sink '<sinkId>' were logged in the checkpoint by another run.",
    "Nothing was committed. Two drivers run this query on one checkpoint: stop one of them, and start the other again."
  )
  val RepairUnsupported = Condition(
    "REPAIR_UNSUPPORTED",
    "Sink '<sinkId>' is written by a continuous or real-time query: its epochs have rows beyond their ends, of which an epoch's number says nothing.",
    "Nothing was changed. Start the query on the checkpoint that belongs to the ledger; or, to begin again with another checkpoint, run: epochal ledger forget"
  )

  protected val ofProgress: Seq[Condition] =
    Seq(RowsNotRepeated, RowsOwed, ProgressLost, FlushOvertaken, RunFailed, EpochLoggedByOther, RepairUnsupported)
}
