package io.epochal.cdc

import java.sql.Connection

import io.epochal.cdc.slot._
import io.epochal.core.error.Conditions
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

/** Compares the server with the needs of a query. */
final private[cdc] class ServerCheck(options: CdcOptions, server: CaptureServer, tables: CdcTables) {

  def needsOf(slot: String, publication: Option[String]): CaptureNeeds = CaptureNeeds(
    slot,
    publication.orElse(options.publication).getOrElse(slot),
    options.createsSlot,
    options.createsPublication,
    options.preimages,
    options.operations,
    copies = options.starting == CdcStart.Initial,
    standbys = options.maxStandbyLag.nonEmpty)

  def facts(connection: Connection, needs: CaptureNeeds): ServerFacts = ServerFacts.of(
    connection,
    needs,
    ServerFacts.tables(connection, sql"c.oid IN ${Sql.list(tables.all.map(_.facts.oid))}"))

  /** The points that are certain without a checkpoint, from which the names of slot and publication may follow.
    *
    * @param ofFirstStart
    *   whether the checkpoint would be new. If it may have a slot, no further one need be free, whether one that exists can be
    *   used is not certain, and the rows may have been copied.
    */
  def points(connection: Connection, ofFirstStart: Boolean): Seq[Point] = {
    val own = needsOf(options.slot.getOrElse(""), None)
    val hasSlot = options.slot.nonEmpty
    val facts = ServerFacts.of(connection, own, tables.all.map(_.facts))
    Preflight.check(
      facts,
      own.copy(createsSlot = own.createsSlot && (hasSlot || ofFirstStart), copies = own.copies && ofFirstStart),
      ofPublication = hasSlot || options.publication.nonEmpty,
      ofSlot = hasSlot && (ofFirstStart || facts.slot.isEmpty)
    )
  }

  /** Refuses a server that lacks a point, whatever the checkpoint has.
    *
    * @throws EpochalException
    *   CAPTURE_NOT_READY, with all points that are missing
    */
  def requireReady(): Unit = refuse(server.sql(points(_, ofFirstStart = false)))

  def requireReady(facts: ServerFacts, needs: CaptureNeeds): Unit = refuse(Preflight.check(facts, needs))

  /** Refuses a snapshot of a standby, which does not report the transactions that its rows lack. */
  def requirePrimary(facts: ServerFacts): Unit = if (facts.server.isStandby)
    refuse(
      Seq(
        Point(
          "snapshot",
          "the server is a standby",
          Severity.Missing,
          Some("/* connect to the primary, or begin with {option:startingOffset=latest} */"))))

  /** The slots of the database, whose queries read messages.
    *
    * @throws EpochalException
    *   CAPTURE_NOT_READY, if there are none, or the server cannot write messages that they read
    */
  def slotsForSignals(connection: Connection): Seq[String] = {
    val (major, isStandby) = sql"SELECT current_setting('server_version_num')::int / 10000, pg_is_in_recovery()"
      .query(connection)(row => row.getInt(1) -> row.getBoolean(2))
      .head
    val slots =
      sql"SELECT slot_name FROM pg_replication_slots WHERE database = current_database() AND plugin = 'pgoutput' ORDER BY 1"
        .query(connection)(_.getString(1))
    def missing(name: String, finding: String, mend: String) =
      Point(name, finding, Severity.Missing, Some(s"/* $mend */"))
    refuse(
      Option.when(major < 14)(missing("server version", major.toString, "upgrade to PostgreSQL 14 or newer")).toSeq ++
        Option.when(isStandby)(missing("server", "a standby", "connect to the primary")) ++
        Option.when(slots.isEmpty)(missing("replication slots", "none of this database", "start the query first")))
    slots
  }

  private def refuse(points: Seq[Point]): Unit = {
    val missing = points.filter(_.severity == Severity.Missing)
    if (missing.nonEmpty)
      throw Conditions.CaptureNotReady(
        "table" -> tables.names,
        "url" -> server.place,
        "points" -> missing.map(point => s"${point.name}: ${point.finding}").mkString("; "),
        "sql" -> missing.flatMap(_.mend).mkString(" "))
  }

  /** Checks the server before changes are read from a position on.
    *
    * @param copies
    *   whether rows are left to copy
    * @throws EpochalException
    *   with everything that is missing, or what has changed
    */
  def resume(connection: Connection, origin: CdcOrigin, position: Long, copies: Boolean): ServerFacts = {
    val needs = needsOf(origin.slot, Some(origin.publication)).copy(createsSlot = false, copies = copies)
    val facts = this.facts(connection, needs)
    ResumeCheck.refusal(origin, position, facts, server.place).foreach(throw _)
    requireReady(facts, needs)
    if (copies) requirePrimary(facts)
    facts
  }
}
