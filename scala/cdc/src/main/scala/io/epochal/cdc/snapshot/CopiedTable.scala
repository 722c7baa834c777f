package io.epochal.cdc.snapshot

import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.cdc.slot.TableFacts

/** The table to copy, and how its rows travel.
  *
  * @param number
  *   its key in `ChangeState.snapshots`
  * @param relation
  *   its definition, as the rows have it
  * @param columns
  *   its columns in SQL, in that order: binary values, or cast to text
  * @param binary
  *   whether the values are binary
  * @param key
  *   None: it cannot be divided, nor read on after a kill
  */
final private[cdc] case class CopiedTable(
    number: Int,
    table: TableFacts,
    relation: Relation,
    columns: Seq[String],
    binary: Boolean,
    key: Option[TableKey])
