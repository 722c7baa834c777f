package io.epochal.cdc.slot

import java.time.Duration

/** Checks whether changes can be captured: facts in, points out. */
private[cdc] object Preflight {
  import ServerFacts.name
  import Severity._

  /** @param ofPublication
    *   whether the publication is checked; its name may be unknown
    * @param ofSlot
    *   the same of the slot
    */
  def check(facts: ServerFacts, wanted: Wanted, ofPublication: Boolean = true, ofSlot: Boolean = true): Seq[Point] =
    server(facts, wanted) ++ facts.tables.flatMap(table(_, facts, wanted)) ++
      (if (ofPublication) publication(facts, wanted) else Nil) ++ (if (ofSlot) slot(facts, wanted) else Nil)

  private def server(facts: ServerFacts, wanted: Wanted): Seq[Point] = {
    val server = facts.server
    val needed = facts.slot.isEmpty && wanted.createsSlot
    Seq(
      point("server version", server.major.toString, server.major >= 13)("/* upgrade to PostgreSQL 13 or newer */"),
      point("wal_level", walLevel(server), server.effectiveWalLevel == "logical" || server.raisesWalLevel)(
        if (server.isStandby && server.major >= 19)
          "/* create a logical slot on the primary, or set wal_level = logical there */"
        else "ALTER SYSTEM SET wal_level = logical; /* then restart the server */"),
      point(
        "replication slots",
        s"${server.slots._1} of ${server.slots._2} in use",
        !needed || server.slots._1 < server.slots._2)(
        s"ALTER SYSTEM SET max_replication_slots = ${server.slots._2 + 4}; /* then restart the server */"),
      point(
        "WAL senders",
        s"${server.senders._1} of ${server.senders._2} in use",
        facts.slot.exists(_.user.nonEmpty) || server.senders._1 < server.senders._2)(
        s"ALTER SYSTEM SET max_wal_senders = ${server.senders._2 + 4}; /* then restart the server */"),
      point(
        "role",
        server.role + (if (server.replicates) " may replicate" else " may not replicate"),
        server.replicates)(
        s"ALTER ROLE ${name(server.role)} REPLICATION; /* on RDS and Aurora: GRANT rds_replication TO ${name(server.role)} */"),
      point("server", if (server.isStandby) "a standby" else "a primary", !server.isStandby || server.major >= 16)(
        "/* connect to the primary: a standby has logical slots from PostgreSQL 16 on */"),
      Point(
        "max_slot_wal_keep_size",
        server.keptWal.getOrElse("unlimited: a slot that nobody reads fills the disk"),
        if (server.keptWal.isEmpty) Warning else Fine,
        Option.when(server.keptWal.isEmpty)(
          "ALTER SYSTEM SET max_slot_wal_keep_size = '50GB'; SELECT pg_reload_conf();"))
    ) ++ Option.when(server.hasFailover && server.standbys.nonEmpty)(
      Point(
        "synchronized_standby_slots",
        s"without ${server.standbys.mkString(", ")}: a query may be ahead of a standby that is promoted",
        Warning,
        Some(
          s"ALTER SYSTEM SET synchronized_standby_slots = ${server.standbys.mkString(", ")}; SELECT pg_reload_conf();")
      ))
  }

  private def walLevel(server: Server): String =
    if (server.raisesWalLevel) s"${server.walLevel}, which the first logical slot raises to logical"
    else if (server.effectiveWalLevel != server.walLevel)
      s"${server.walLevel}, in effect ${server.effectiveWalLevel}"
    else server.walLevel

  private def table(table: TableFacts, facts: ServerFacts, wanted: Wanted): Seq[Point] = {
    val place = s"table ${table.name}"
    val published = facts.publication.fold(Set("insert", "update", "delete", "truncate"))(_.operations)
    val changes = published("update") || published("delete")
    val identified = table.identity match {
      case "f" => true
      case "d" => table.primaryKey.nonEmpty
      case "i" => table.identityColumns.nonEmpty
      case _   => false
    }
    val full = s"ALTER TABLE ${table.sql} REPLICA IDENTITY FULL;"
    Seq(
      point(s"$place, kind", kindOf(table.kind), Set("r", "p")(table.kind))(
        "/* capture an ordinary or a partitioned table */"),
      point(s"$place, log", if (table.isLogged) "logged" else "not logged", table.isLogged)(
        s"ALTER TABLE ${table.sql} SET LOGGED;"),
      point(s"$place, SELECT", if (table.isReadable) "granted" else "not granted", table.isReadable)(
        s"GRANT USAGE ON SCHEMA ${name(table.schema)} TO ${name(facts.server.role)}; GRANT SELECT ON ${table.sql} TO ${name(facts.server.role)};"),
      point(s"$place, replica identity", identityOf(table), identified || !changes)(
        if (table.primaryKey.nonEmpty) s"ALTER TABLE ${table.sql} REPLICA IDENTITY DEFAULT;"
        else s"$full /* or add a primary key */"),
      point(
        s"$place, preimages",
        if (wanted.preimages) "wanted" else "not wanted",
        !wanted.preimages || table.identity == "f")(full)
    ) ++ Option.when(table.isFiltered)(
      point(s"$place, row-level security", s"hides rows from ${facts.server.role}", !wanted.copies)(
        s"ALTER ROLE ${name(facts.server.role)} BYPASSRLS;")
    ) ++ Some(table.children.diff(facts.tables.map(_.name)))
      .filter(_.nonEmpty)
      .map(apart => Point(s"$place, inheritance", s"without the rows of ${apart.mkString(", ")}", Warning, None))
  }

  private def publication(facts: ServerFacts, wanted: Wanted): Seq[Point] = {
    val tables = facts.tables.map(_.rows).mkString(", ")
    val isPartitioned = facts.tables.exists(_.kind == "p")
    val quoted = name(wanted.publication)
    val options = if (isPartitioned) " WITH (publish_via_partition_root = true)" else ""
    facts.publication match {
      case None =>
        val creates = wanted.createsPublication && facts.server.createsPublications && facts.tables.forall(_.isOwned)
        Seq(
          point(s"publication ${wanted.publication}", if (creates) "will be created" else "does not exist", creates)(
            s"CREATE PUBLICATION $quoted FOR TABLE $tables$options; /* as the owner of the tables */"))
      case Some(found) =>
        val unpublished = facts.tables.filterNot(table => found.tables.contains(table.name))
        val filtered = facts.tables.flatMap(table => found.tables.get(table.name).flatMap(_.filter).map(table -> _))
        val lacking = wanted.operations -- found.operations
        val place = s"publication ${found.name}"
        Seq(
          point(
            place,
            if (unpublished.isEmpty) "publishes the tables" else s"lacks ${unpublished.map(_.name).mkString(", ")}",
            unpublished.isEmpty)(s"ALTER PUBLICATION $quoted ADD TABLE ${unpublished.map(_.rows).mkString(", ")};"),
          point(
            s"$place, partitions",
            if (found.viaRoot) "as their root" else "by themselves",
            !isPartitioned || found.viaRoot)(s"ALTER PUBLICATION $quoted SET (publish_via_partition_root = true);"),
          point(
            s"$place, row filters",
            if (filtered.isEmpty) "none" else filtered.map(_._2).mkString(", "),
            filtered.isEmpty)(
            s"BEGIN; ${filtered.map(one => unfiltered(quoted, one._1, found)).mkString(" ")} COMMIT; /* a filter turns updates into inserts and deletes */"),
          point(s"$place, operations", found.operations.toSeq.sorted.mkString(", "), lacking.isEmpty)(
            s"ALTER PUBLICATION $quoted SET (publish = '${PublicationFacts.Operations.mkString(", ")}'); /* or set {option:operations} */")
        )
    }
  }

  private def slot(facts: ServerFacts, wanted: Wanted): Seq[Point] = facts.slot match {
    case None =>
      Seq(
        point(
          s"slot ${wanted.slot}",
          if (wanted.createsSlot) "will be created" else "does not exist",
          wanted.createsSlot)(
          s"SELECT pg_create_logical_replication_slot('${wanted.slot}', 'pgoutput'${facts.server.failoverArgument});"))
    case Some(found) =>
      val drop = s"SELECT pg_drop_replication_slot('${found.name}'); /* and start with a new checkpoint */"
      Seq(
        point(s"slot ${found.name}, plugin", found.plugin, found.plugin == "pgoutput")(drop),
        point(s"slot ${found.name}, database", found.database, found.database == facts.server.database)(
          s"/* connect to the database ${found.database}, or name another slot */"),
        point(s"slot ${found.name}, two-phase", if (found.twoPhase) "on" else "off", !found.twoPhase)(drop),
        point(
          s"slot ${found.name}, state",
          found.invalidation.fold(found.status)(reason => s"${found.status}: $reason"),
          found.status != "lost" && found.invalidation.isEmpty)(drop),
        point(
          s"slot ${found.name}, reader",
          found.user.fold("none")(user => s"process ${user.process} for ${user.seconds} s"),
          ok = true)(""),
        // The server removes what it retains beyond the limit at its next checkpoint.
        Point(
          s"slot ${found.name}, retained",
          s"${found.retained} bytes${found.safe.fold("")(safe => s", lost after $safe more")}",
          if (found.status == "unreserved") Warning else Fine,
          None
        )
      ) ++ Option.when(facts.server.hasFailover)(Point(
        s"slot ${found.name}, failover",
        if (found.failover) "on"
        else
          s"off: ALTER_REPLICATION_SLOT ${found.name} (FAILOVER true), with replication=database, lets standbys have it",
        if (found.failover) Fine else Warning,
        None
      ))
  }

  /** Publishes a table again, without its filter; other tables of the publication stay. */
  private def unfiltered(publication: String, table: TableFacts, found: PublicationFacts): String = {
    val columns =
      found.tables.get(table.name).filter(_.isListed).fold("")(_.columns.map(name).mkString(" (", ", ", ")"))
    s"ALTER PUBLICATION $publication DROP TABLE ${table.rows}; ALTER PUBLICATION $publication ADD TABLE ${table.rows}$columns;"
  }

  private def point(name: String, found: String, ok: Boolean)(mend: => String): Point =
    Point(name, found, if (ok) Fine else Missing, Option.unless(ok)(mend))

  private def identityOf(table: TableFacts): String = table.identity match {
    case "f"                             => "FULL"
    case "d" if table.primaryKey.isEmpty => "DEFAULT, without a primary key"
    case "d"                             => s"DEFAULT: ${table.primaryKey.mkString(", ")}"
    case "i"                             => s"USING INDEX: ${table.identityColumns.mkString(", ")}"
    case _                               => "NOTHING"
  }

  private def kindOf(kind: String): String = kind match {
    case "r" => "table"
    case "p" => "partitioned table"
    case "v" => "view"
    case "m" => "materialized view"
    case "f" => "foreign table"
    case _   => s"relation of kind $kind"
  }

  /** How long a start waits for a slot that another process reads. */
  val SlotWait: Duration = Duration.ofSeconds(60)
}
