package io.epochal.jdbc.database

import java.sql.SQLException

import scala.annotation.unused

import io.epochal.core.retry.Verdict
import io.epochal.kit.database.Sql

/** Classifies the errors of a database and its driver. */
trait DriverErrors {

  /** Whether a retry can succeed. */
  def verdict(error: SQLException): Verdict

  /** Whether the error may have come after the transaction was committed. */
  def losesConnection(error: SQLException): Boolean

  /** Whether the connection must not be reused after the error, though it may still respond. */
  def outlives(error: SQLException): Boolean = losesConnection(error)

  /** Whether the server exists but takes no connections yet: it is starting, or at its connection limit. */
  def opensLater(@unused error: SQLException): Boolean = false

  /** Whether the server refused the login, or asked for a password that it did not get. */
  def refusesLogin(error: SQLException): Boolean = Sql.state(error).startsWith("28")

  /** The server setting that limits connections, if the limit is the cause. */
  def tooManyConnections(@unused error: SQLException): Option[String] = None

  /** Whether a lock of somebody else outlasted the lock timeout. */
  def isLocked(@unused error: SQLException): Boolean = false

  /** Whether the database's disk or quota is full. */
  def isFull(error: SQLException): Boolean = Sql.state(error) == "53100"

  /** Whether a missing privilege is the cause. */
  def denied(error: SQLException): Boolean = Sql.state(error) == "42501"

  /** The server setting that limits a statement's size, if a single row exceeds it. */
  def rowTooLarge(@unused error: SQLException): Option[String] = None
}
