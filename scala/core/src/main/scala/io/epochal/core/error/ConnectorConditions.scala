package io.epochal.core.error

/** Of connectors that are built on the kit: a part of [[Conditions]]. */
private[error] trait ConnectorConditions {

  val ConnectorFailed = Condition(
    "CONNECTOR_FAILED",
    "<format> failed while it <step> (<attempts> attempts): <reason>.",
    "Correct what the reason names, then start the query again on its checkpoint: no row is lost. retry.maxAttempts and retry.deadline set how long transient failures are retried."
  )
  val ConnectorInvalid = Condition(
    "CONNECTOR_INVALID",
    "The connector <format> breaks a rule of the kit: <reason>.",
    "This is an error in its code: correct '<member>' as its documentation says."
  )
  val LedgerDamaged = Condition(
    "LEDGER_DAMAGED",
    "An entry of the ledger in <place> cannot be read: <reason>. It is <text>",
    "Restore the ledger together with the rows, from one backup: only both of one moment fit each other."
  )

  private[error] val ofConnectors: Seq[Condition] = Seq(ConnectorFailed, ConnectorInvalid, LedgerDamaged)
}
