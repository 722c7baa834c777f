package io.epochal.jdbc.database

import java.sql.Connection

import scala.annotation.unused

import io.epochal.core.ledger.ContentDigest

/** Takes the rows of one attempt. */
trait BulkCopy {
  def write(bytes: Array[Byte], length: Int): Unit

  /** Ends the transaction so that the rows outlive the task, visible only to the driver's commit.
    *
    * @param digest
    *   of all the attempt's rows, including bad ones
    * @param rows
    *   number of rows written
    * @return
    *   the place of the rows, for the message to the driver
    */
  def finish(digest: ContentDigest, rows: Long): String

  /** Whether the rows may be in place although the connection was lost before the response to `finish`. */
  def isInDoubt: Boolean = false

  /** Looks for the rows after `finish` lost its response.
    *
    * @param connection
    *   a new one
    * @param transaction
    *   the id of the transaction in which the rows were written
    * @return
    *   the rows' place; None: they were not stored and never will be
    * @throws java.sql.SQLException
    *   a transient one, while the outcome is undecided
    */
  def find(@unused connection: Connection, @unused transaction: Option[String]): Option[String] = None

  /** Abandons an unfinished copy, so that the transaction can be rolled back. */
  def cancel(): Unit
}
