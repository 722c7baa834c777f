package io.epochal.jdbc.table

import java.sql.Connection

import scala.util.Try

import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.jdbc.database.{BoundTable, Database, WriteNeeds}

/** The privileges of the login, checked before a query starts, and again where the database denied a statement. */
private[jdbc] object Privileges {
  private val log = LoggerFactory.getLogger("io.epochal.jdbc.table.Privileges")

  /** The refusal with everything that is missing; None also if the database cannot tell. A failed query must be the last in its
    * transaction.
    *
    * @param bound
    *   None: the target does not exist, and is to be created
    * @param keepsLedger
    *   a streaming query
    * @param denied
    *   the database has denied a statement
    */
  def refusal(
      database: Database,
      connection: Connection,
      bound: Option[BoundTable],
      keepsLedger: Boolean,
      denied: Boolean = false): Option[EpochalException] = {
    val (dialect, options) = (database.dialect, database.options)
    def missing(): Seq[String] = {
      val target = bound.fold(dialect.catalog.newName(connection, options.table))(_.table.name)
      val letters = options.deadLetterTable.map(name =>
        dialect.catalog.find(connection, name).fold(dialect.catalog.newName(connection, name))(_.name))
      dialect.missingPrivileges(connection, WriteNeeds(options, target, bound, letters, keepsLedger, denied))
    }
    Try(missing())
      .recover { case error =>
        log.debug("epochal-jdbc: the privileges are not checked: {}", options.connection.redact(error.getMessage))
        Nil
      }
      .toOption
      .filter(_.nonEmpty)
      .map(grants =>
        Conditions.PrivilegesMissing(
          "url" -> database.place,
          "table" -> bound.fold(options.table.toString)(_.table.name.toString),
          "grants" -> grants.mkString("; ")))
  }
}
