package io.epochal.cdc

import io.epochal.cdc.slot.TableFacts
import io.epochal.kit.database.PostgresColumn

/** A captured table, as it was when the query was planned. */
final private[cdc] case class CdcTable(facts: TableFacts, columns: Seq[PostgresColumn])
