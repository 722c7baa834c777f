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
    options.preimages,
    options.operations,
    copies = options.starting == CdcStart.Initial)

  def facts(connection: Connection, tables: CdcTables, wanted: Wanted): ServerFacts =
    facts(connection, ServerFacts.tables(connection, sql"c.oid IN ${Sql.list(tables.all.map(_.facts.oid))}"), wanted)

  private def facts(connection: Connection, tables: Seq[TableFacts], wanted: Wanted): ServerFacts = ServerFacts(
    ServerFacts.server(connection),
    ServerFacts.slot(connection, wanted.slot),
    ServerFacts.publication(connection, wanted.publication),
    tables)

  /** The points that are known without a checkpoint, from which the names of slot and publication may follow.
    *
    * @param tables
    *   as they were just found
    * @param ofFirstStart
    *   whether the checkpoint would be new. If it may have a slot, no further one need be free, whether one that exists can be
    *   used is not known, and the rows may have been copied.
    */
  def points(connection: Connection, tables: CdcTables, ofFirstStart: Boolean): Seq[Point] = {
    val named = wanted(options.slot.getOrElse(""), None)
    val hasSlot = options.slot.nonEmpty
    val facts = this.facts(connection, tables.all.map(_.facts), named)
    Preflight.check(
      facts,
      named.copy(createsSlot = named.createsSlot && (hasSlot || ofFirstStart), copies = named.copies && ofFirstStart),
      ofPublication = hasSlot || options.publication.nonEmpty,
      ofSlot = hasSlot && (ofFirstStart || facts.slot.isEmpty))
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

  /** Creates the publication: of whole schemas if the role may, so that it has their new tables too. */
  def createPublication(connection: Connection, tables: CdcTables, name: String, server: Server): Unit = {
    val root =
      if (tables.schemas.nonEmpty || tables.all.exists(_.facts.kind == "p")) " WITH (publish_via_partition_root = true)"
      else ""
    val whole = if (NewTables.mayPublish(connection, server)) tables.schemas else Nil
    val single = tables.all.map(_.facts).filterNot(table => whole.contains(table.schema)).map(_.rows)
    val objects = Seq(
      Option.when(single.nonEmpty)(s"TABLE ${single.mkString(", ")}"),
      Option.when(whole.nonEmpty)(s"TABLES IN SCHEMA ${whole.map(Sql.quoted).mkString(", ")}")).flatten.mkString(", ")
    Sql.run(connection, s"CREATE PUBLICATION ${Sql.quoted(name)} FOR $objects$root")
  }

  /** Refuses a snapshot of a standby, which does not report the transactions that its rows lack. */
  def refuseSnapshot(tables: CdcTables, isStandby: Boolean): Unit = if (isStandby)
    refuse(
      tables,
      Seq(
        Point(
          "snapshot",
          "the server is a standby",
          Severity.Missing,
          Some("/* connect to the primary, or begin with {option:startingOffset=latest} */"))))
}
