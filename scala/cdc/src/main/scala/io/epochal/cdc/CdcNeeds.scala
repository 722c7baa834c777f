package io.epochal.cdc

import java.sql.Connection

import io.epochal.cdc.slot._
import io.epochal.core.error.Conditions
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

/** The needs of a query, compared with the server. */
final private[cdc] class CdcNeeds(options: CdcOptions, server: CaptureServer) {

  def wanted(slot: String, publication: Option[String]): Wanted = Wanted(
    slot,
    publication.orElse(options.publication).getOrElse(slot),
    options.createsSlot,
    options.createsPublication,
    options.preimages)

  def facts(connection: Connection, tables: CdcTables, wanted: Wanted): ServerFacts = ServerFacts(
    ServerFacts.server(connection),
    ServerFacts.slot(connection, wanted.slot),
    ServerFacts.publication(connection, wanted.publication),
    ServerFacts.tables(connection, sql"c.oid IN ${Sql.list(tables.all.map(_.facts.oid))}"))

  /** All points, as far as they are known before the checkpoint is: the names of slot and publication may follow from it. */
  def points(connection: Connection, tables: CdcTables): Seq[Point] = {
    val named = wanted(options.slot.getOrElse(""), None)
    val isNamed = options.slot.nonEmpty
    // A slot that exists under another name takes no further one.
    val facts = this.facts(connection, tables, named)
    val all = Preflight.check(facts, named.copy(createsSlot = named.createsSlot && isNamed), isNamed)
    // Whether a slot that exists can be used depends on the checkpoint.
    if (facts.slot.isEmpty) all else all.filterNot(_.name.startsWith("slot "))
  }

  /** @throws EpochalException
    *   CAPTURE_NOT_READY, with all points that are missing
    */
  def refuse(tables: CdcTables, points: Seq[Point]): Unit = {
    val missing = points.filter(_.severity == Severity.Missing)
    if (missing.nonEmpty)
      throw Conditions.CaptureNotReady(
        "table" -> tables.names,
        "url" -> server.place,
        "points" -> missing.map(point => s"${point.name}: ${point.found}").mkString("; "),
        "sql" -> missing.flatMap(_.mend).mkString(" "))
  }

  def refuse(tables: CdcTables, facts: ServerFacts, wanted: Wanted): Unit =
    refuse(tables, Preflight.check(facts, wanted))
}
