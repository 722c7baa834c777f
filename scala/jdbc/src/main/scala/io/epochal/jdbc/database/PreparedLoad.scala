package io.epochal.jdbc.database

import java.sql.Connection

import scala.annotation.unused

import io.epochal.kit.database.Sql
import io.epochal.kit.sink.row.EncodedRows

/** A load of rows that the first message of its transaction has prepared. */
trait PreparedLoad {
  def preparation: Seq[Sql]
  def apply(connection: Connection, rows: EncodedRows): Loaded

  /** Reverts the preparation, for a transaction that loads in another way. */
  def undo(@unused connection: Connection): Unit = ()
}
