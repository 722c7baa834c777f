package io.epochal.core.ledger

/** A sink's row in the ledger. It commits in the same transaction as the rows of the epoch.
  *
  * @param last
  *   None until the first epoch is applied
  * @param generation
  *   increases with every run that claims the sink; only the newest may write
  * @param runId
  *   Spark's run id of that run
  */
final case class LedgerRow(
    sinkId: String,
    queryId: String,
    target: Target,
    last: Option[AppliedEpoch],
    generation: Long,
    runId: String,
    server: ServerIdentity
)
