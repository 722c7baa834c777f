package io.epochal.kit.sink

import io.epochal.core.ledger._

/** The ledger's state when a run claims a sink.
  *
  * @param target
  *   the target of the run
  * @param current
  *   the sink's row, locked; None: there is none
  * @param known
  *   this query's row from before another query took the sink over
  * @param others
  *   the rows of other sinks with the same target
  * @param stored
  *   the query's rows that were stored in the middle of epochs
  */
final case class LedgerState(
    target: Target,
    server: ServerIdentity,
    current: Option[LedgerRow],
    known: Option[LedgerRow] = None,
    others: Seq[LedgerRow] = Nil,
    stored: Progress = Progress.Empty)
