package io.epochal.jdbc.database

/** Capabilities of a database beyond append and upsert, and its limits.
  *
  * @param deletes
  *   a load deletes rows by key where [[BoundTable.operation]] says so
  * @param flushes
  *   tasks can append rows in their own transactions, in the middle of an epoch; otherwise only the driver writes
  * @param addsColumns
  *   the sink can add columns: with the first epoch, or with the claim if DDL commits
  * @param altersColumns
  *   it can also give them other types, and let them be NULL ([[Dialect.alter]])
  * @param ddlCommits
  *   CREATE TABLE and other DDL commit the open transaction: a claim then creates its tables in a separate one first
  * @param maxConnections
  *   maximum per JVM, unless the user sets it
  * @param longestName
  *   in bytes of UTF-8, or in characters
  * @param namesCountCharacters
  *   whether it is in characters
  * @param ignoresCase
  *   a table cannot have two columns whose names differ only in case
  */
final case class Abilities(
    deletes: Boolean = false,
    flushes: Boolean = false,
    addsColumns: Boolean = false,
    altersColumns: Boolean = false,
    ddlCommits: Boolean = false,
    maxConnections: Int = 8,
    longestName: Int = Int.MaxValue,
    namesCountCharacters: Boolean = false,
    ignoresCase: Boolean = false)
