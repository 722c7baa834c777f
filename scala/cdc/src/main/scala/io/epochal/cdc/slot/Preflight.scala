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
  def check(
      facts: ServerFacts,
      needs: CaptureNeeds,
      ofPublication: Boolean = true,
      ofSlot: Boolean = true): Seq[Point] =
    server(facts, needs) ++ facts.tables.flatMap(table(_, facts, needs)) ++
      (if (ofPublication) publication(facts, needs) else Nil) ++ (if (ofSlot) slot(facts, needs) else Nil)

  private def server(facts: ServerFacts, needs: CaptureNeeds): Seq[Point] = {
    val server = facts.server
    val needed = facts.slot.isEmpty && needs.createsSlot
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
    ) ++ Option.when(needs.standbys)(
      point(
        "lag of standbys",
        if (server.seesStandbys) "visible" else s"hidden from ${server.role}",
        server.seesStandbys)(s"GRANT pg_read_all_stats TO ${name(server.role)};")
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

  private def table(table: TableFacts, facts: ServerFacts, needs: CaptureNeeds): Seq[Point] = {
    val place = s"table ${table.name}"
    val sends = facts.publication.fold(Set("insert", "update", "delete", "truncate"))(_.operations)
    val changes = sends("update") || sends("delete")
    val hasIdentity = table.identity match {
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
      point(s"$place, replica identity", identityOf(table), hasIdentity || !changes)(
        if (table.primaryKey.nonEmpty) s"ALTER TABLE ${table.sql} REPLICA IDENTITY DEFAULT;"
        else s"$full /* or add a primary key */"),
      point(
        s"$place, preimages",
        if (needs.preimages) "wanted" else "not wanted",
        !needs.preimages || table.identity == "f")(full)
    ) ++ Option.when(table.isFiltered)(
      point(s"$place, row-level security", s"hides rows from ${facts.server.role}", !needs.copies)(
        s"ALTER ROLE ${name(facts.server.role)} BYPASSRLS;")
    ) ++ Some(table.children.diff(facts.tables.map(_.name)))
      .filter(_.nonEmpty)
      .map(apart => Point(s"$place, inheritance", s"without the rows of ${apart.mkString(", ")}", Warning, None))
  }

  private def publication(facts: ServerFacts, needs: CaptureNeeds): Seq[Point] = {
    val tables = facts.tables.map(_.rows).mkString(", ")
    val isPartitioned = facts.tables.exists(_.kind == "p")
    val sqlName = name(needs.publication)
    val options = if (isPartitioned) " WITH (publish_via_partition_root = true)" else ""
    facts.publication match {
      case None =>
        val creates = needs.createsPublication && facts.server.createsPublications && facts.tables.forall(_.isOwned)
        Seq(
          point(s"publication ${needs.publication}", if (creates) "will be created" else "does not exist", creates)(
            s"CREATE PUBLICATION $sqlName FOR TABLE $tables$options; /* as the owner of the tables */"))
      case Some(own) =>
        val absent = facts.tables.filterNot(table => own.tables.contains(table.name))
        val filters = facts.tables.flatMap(table => own.tables.get(table.name).flatMap(_.filter).map(table -> _))
        val lacking = needs.operations -- own.operations
        val place = s"publication ${own.name}"
        Seq(
          point(
            place,
            if (absent.isEmpty) "publishes the tables" else s"lacks ${absent.map(_.name).mkString(", ")}",
            absent.isEmpty)(add(sqlName, absent)),
          point(
            s"$place, partitions",
            if (own.viaRoot) "as their root" else "by themselves",
            !isPartitioned || own.viaRoot)(s"ALTER PUBLICATION $sqlName SET (publish_via_partition_root = true);"),
          point(
            s"$place, row filters",
            if (filters.isEmpty) "none" else filters.map(_._2).mkString(", "),
            filters.isEmpty)(
            s"BEGIN; ${filters.map(one => republish(sqlName, one._1, own)).mkString(" ")} COMMIT; /* a filter turns updates into inserts and deletes */"),
          point(s"$place, operations", own.operations.toSeq.sorted.mkString(", "), lacking.isEmpty)(
            s"ALTER PUBLICATION $sqlName SET (publish = '${PublicationFacts.Operations.mkString(", ")}'); /* or set {option:operations} */")
        )
    }
  }

  /** Locks out writers: an older server sends no later changes of a table if a transaction that changed it was running when the
    * publication got it.
    */
  private def add(publication: String, tables: Seq[TableFacts]): String = {
    val list = tables.map(_.rows).mkString(", ")
    s"BEGIN; LOCK TABLE $list IN SHARE ROW EXCLUSIVE MODE; ALTER PUBLICATION $publication ADD TABLE $list; COMMIT;"
  }

  private def slot(facts: ServerFacts, needs: CaptureNeeds): Seq[Point] = facts.slot match {
    case None =>
      Seq(
        point(s"slot ${needs.slot}", if (needs.createsSlot) "will be created" else "does not exist", needs.createsSlot)(
          s"SELECT pg_create_logical_replication_slot('${needs.slot}', 'pgoutput'${facts.server.failoverArgument});"))
    case Some(own) =>
      val drop = s"SELECT pg_drop_replication_slot('${own.name}'); /* and start with a new checkpoint */"
      Seq(
        point(s"slot ${own.name}, plugin", own.plugin, own.plugin == "pgoutput")(drop),
        point(s"slot ${own.name}, database", own.database, own.database == facts.server.database)(
          s"/* connect to the database ${own.database}, or name another slot */"),
        point(s"slot ${own.name}, two-phase", if (own.twoPhase) "on" else "off", !own.twoPhase)(drop),
        point(
          s"slot ${own.name}, state",
          own.invalidation.fold(own.status)(reason => s"${own.status}: $reason"),
          own.status != "lost" && own.invalidation.isEmpty)(drop),
        point(
          s"slot ${own.name}, reader",
          own.user.fold("none")(user =>
            s"process ${user.process} for ${user.seconds.fold("an unknown time")(_.toString + " s")}"),
          ok = true)(""),
        // The server removes what it retains beyond the limit at its next checkpoint.
        Point(
          s"slot ${own.name}, retained",
          s"${own.retained.fold("an unknown number of")(_.toString)} bytes${own.safe.fold("")(safe =>
              s", lost after $safe more")}",
          if (own.status == "unreserved") Warning else Fine,
          None
        )
      ) ++ Option.when(facts.server.hasFailover)(Point(
        s"slot ${own.name}, failover",
        if (own.failover) "on"
        else
          s"off: ALTER_REPLICATION_SLOT ${own.name} (FAILOVER true), with replication=database, lets standbys have it",
        if (own.failover) Fine else Warning,
        None
      ))
  }

  /** Publishes a table again, without its filter; other tables of the publication stay. */
  private def republish(publication: String, table: TableFacts, own: PublicationFacts): String = {
    val columns =
      own.tables.get(table.name).filter(_.isListed).fold("")(_.columns.map(name).mkString(" (", ", ", ")"))
    s"ALTER PUBLICATION $publication DROP TABLE ${table.rows}; ALTER PUBLICATION $publication ADD TABLE ${table.rows}$columns;"
  }

  private def point(name: String, finding: String, ok: Boolean)(mend: => String): Point =
    Point(name, finding, if (ok) Fine else Missing, Option.unless(ok)(mend))

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
