package io.epochal.jdbc.generic

import java.sql._

import io.epochal.core.retry.Verdict
import io.epochal.jdbc.database._
import io.epochal.kit.database.Sql

/** Classifies errors by JDBC's exception classes and standard SQL's SQLSTATEs. */
class GenericErrors extends DriverErrors {

  /** Transient are the SQLSTATEs for connection, serialization and deadlock, resources, shutdown and unavailable locks, and JDBC's
    * transient exception classes.
    */
  override def verdict(error: SQLException): Verdict = {
    val transient = error.isInstanceOf[SQLTransientException] || losesConnection(error) ||
      Seq("40", "53", "57P", "HYT").exists(Sql.state(error).startsWith) || Sql.state(error) == "55P03"
    if (transient && Sql.state(error) != "08004") Verdict.Retry else Verdict.GiveUp
  }

  /** Also Derby's SQLSTATE, SQL Server's number, and those of Oracle for a wrong and for no password. */
  override def refusesLogin(error: SQLException): Boolean =
    super.refusesLogin(error) || Sql.state(error) == "08004" || error.getErrorCode == 18456 ||
      Sql.state(error) == "72000" && Set(1017, 1005)(error.getErrorCode)

  /** PostgreSQL's lock_not_available, and the timeout of H2, whose HYT00 other databases raise for statements too. */
  override def isLocked(error: SQLException): Boolean =
    Sql.state(error) == "55P03" || Sql.state(error) == "HYT00" && error.getErrorCode == H2LockTimeout
  private val H2LockTimeout = 50200

  override def losesConnection(error: SQLException): Boolean =
    error.isInstanceOf[SQLRecoverableException] || error.isInstanceOf[SQLNonTransientConnectionException] ||
      Sql.state(error).startsWith("08")
}

object GenericErrors extends GenericErrors
