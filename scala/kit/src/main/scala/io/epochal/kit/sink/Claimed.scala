package io.epochal.kit.sink

import io.epochal.core.ledger._

/** The result of a claim: the run's row in the ledger, with its generation, and the target. */
final case class Claimed(row: LedgerRow, target: SinkTarget)
