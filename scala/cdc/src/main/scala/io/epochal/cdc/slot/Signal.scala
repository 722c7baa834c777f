package io.epochal.cdc.slot

import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

/** Messages in the server's log, each a transaction of its own. */
private[cdc] object Signal {
  val Prefix = "epochal"

  /** Moves the slot. */
  val Beat = ""

  /** Before the name of a table that is to be reloaded. */
  val Reload = "reload "

  /** Before the name of a table that is to be compared with its replicas. */
  val Verify = "verify "

  /** In the place of a table's name: all tables of the query that reads a slot. */
  def allOf(slot: String): String = s"slot $slot"

  /** Before the token of a copy whose rows are kept. */
  val Mark = "reloaded "

  /** SQL that writes a message, and returns its position. Its transaction waits for no standby, behind which the stream would wait. */
  def sql(content: String): Sql =
    sql"""SELECT s.position FROM (SELECT pg_catalog.pg_logical_emit_message(true, $Prefix, $content) AS position,
         |  pg_catalog.set_config('synchronous_commit', 'local', true)) AS s"""
}
