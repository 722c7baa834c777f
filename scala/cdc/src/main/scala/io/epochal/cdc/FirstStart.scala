package io.epochal.cdc

import java.sql.Connection
import java.util.Locale

import io.epochal.cdc.slot._
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.hash.Sha256
import io.epochal.kit.database.Sql
import io.epochal.kit.spark.RunningQuery

/** Creates what is missing on the server, at the first start of a query.
  *
  * @param checkpoint
  *   the source's directory, from which the slot's name is made
  */
final private[cdc] class FirstStart(plan: CapturePlan, checkpoint: String) {
  import plan.{options, server, tables, watch}

  private val check = new ServerCheck(options, server, tables)

  def create(): CdcOrigin = {
    val needs = check.needsOf(options.slot.getOrElse(defaultSlot), None)
    val inChunks = needs.copies && options.inChunks
    val report = RunningQuery.messageOfThisThread()
    server.sql { connection =>
      val facts = check.facts(connection, needs)
      check.requireReady(facts, needs)
      if (needs.copies) check.requirePrimary(facts)
      if (inChunks && !(plan.reloads && ServerFacts.hasSignals(connection)))
        throw CdcOptions.group.unsupported(
          "load tables in chunks",
          if (plan.reloads) "the server is older than PostgreSQL 14" else "a read of CHANGES has no chunks",
          "Set {option:snapshot=whole}.")
      if (facts.publication.isEmpty) createPublication(connection, needs.publication, facts.server)
      // Before the slot: no later change of it is missed.
      watch.foreach(_.begin(connection, needs.publication, tables.all.map(_.facts.oid)))
      Failpoints.reach(Failpoint.PublicationCreated)
      facts.slot match {
        case None => SlotCreation.create(server, connection, needs.slot, facts.server)(report)
        // Standbys lack it.
        case Some(slot) => if (facts.server.hasFailover && !slot.failover) server.addFailover(slot.name)
      }
      Failpoints.reach(Failpoint.SlotCreated)
      val slotStart = ServerFacts.slot(connection, needs.slot).flatMap(_.confirmed).getOrElse(0L)
      // Of an older slot, the earlier changes are left out.
      def latest = if (facts.slot.isEmpty) slotStart else ServerFacts.end(connection)
      CdcOrigin(
        needs.slot,
        needs.publication,
        facts.server.systemId,
        facts.server.timeline,
        options.starting
          .position(slotStart, latest)
          .fold(what => throw ResumeCheck.slotLost(needs.slot, server.place, what), identity),
        snapshot = needs.copies && !inChunks,
        if (tables.isSeveral) tables.all.map(table => table.facts.name -> table.facts.oid).toMap else Map.empty,
        if (tables.schemas.isEmpty) None
        else NewTables.since(connection, facts.server, needs.publication, tables.schemas),
        Option.unless(tables.isSeveral)(tables.only.facts.name -> tables.only.facts.oid),
        isWatched = watch.nonEmpty,
        rows = if (tables.isSeveral) tables.rows else RowShape.Json,
        inChunks = inChunks
      )
    }
  }

  /** Creates the publication: of whole schemas if the role may, so that it has their new tables too. */
  private def createPublication(connection: Connection, name: String, facts: Server): Unit = {
    val root =
      if (tables.schemas.nonEmpty || tables.all.exists(_.facts.kind == "p")) " WITH (publish_via_partition_root = true)"
      else ""
    val whole = if (NewTables.mayPublish(connection, facts)) tables.schemas else Nil
    val single = tables.all.map(_.facts).filterNot(table => whole.contains(table.schema)).map(_.rows)
    val objects = Seq(
      Option.when(single.nonEmpty)(s"TABLE ${single.mkString(", ")}"),
      Option.when(whole.nonEmpty)(s"TABLES IN SCHEMA ${whole.map(Sql.quoted).mkString(", ")}")).flatten.mkString(", ")
    Sql.run(connection, s"CREATE PUBLICATION ${Sql.quoted(name)} FOR $objects$root")
  }

  /** The same at every first start of a checkpoint. */
  private def defaultSlot: String = {
    val plain = (if (tables.isSeveral) options.tables.toString else tables.only.facts.table)
      .toLowerCase(Locale.ROOT)
      .replaceAll("[^a-z0-9_]", "_")
      .take(40)
    s"epochal_${plain}_${Sha256.hex(s"$checkpoint ${options.source}", 4)}"
  }
}
