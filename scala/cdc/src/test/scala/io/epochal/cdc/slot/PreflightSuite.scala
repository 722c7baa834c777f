package io.epochal.cdc.slot

import org.scalatest.funsuite.AnyFunSuite

final class PreflightSuite extends AnyFunSuite {

  import ReadyServer._

  private val needs = CaptureNeeds(
    "orders",
    "orders",
    createsSlot = true,
    createsPublication = true,
    preimages = false,
    PublicationFacts.Operations.toSet)

  /** The statements that mend the missing points. */
  private def missing(facts: ServerFacts, needs: CaptureNeeds = needs): Seq[String] =
    Preflight.check(facts, needs).filter(_.severity == Severity.Missing).flatMap(_.mend)

  test("a server that is ready has nothing to mend, before the first start and after it") {
    assert(missing(facts).isEmpty)
    assert(missing(facts.copy(slot = Some(slot), publication = Some(publication))).isEmpty)
  }

  test("each setting of the server that is missing comes with what mends it, all at once") {
    val found = missing(
      facts.copy(server = server.copy(
        walLevel = "replica",
        effectiveWalLevel = "replica",
        replicates = false,
        slots = (10, 10),
        senders = (10, 10),
        isStandby = true,
        version = 150000)))
    assert(
      found == Seq(
        "ALTER SYSTEM SET wal_level = logical; /* then restart the server */",
        "ALTER SYSTEM SET max_replication_slots = 14; /* then restart the server */",
        "ALTER SYSTEM SET max_wal_senders = 14; /* then restart the server */",
        "ALTER ROLE cdc REPLICATION; /* on RDS and Aurora: GRANT rds_replication TO cdc */",
        "/* connect to the primary: a standby has logical slots from PostgreSQL 16 on */"
      ))
  }

  test("a query that waits for standbys must see how far they are behind") {
    val hidden = facts.copy(server = server.copy(seesStandbys = false))
    assert(missing(hidden).isEmpty)
    assert(missing(hidden, needs.copy(standbys = true)) == Seq("GRANT pg_read_all_stats TO cdc;"))
    assert(missing(facts, needs.copy(standbys = true)).isEmpty)
  }

  test("from PostgreSQL 19 on wal_level=replica suffices, except on a standby whose primary has no logical slot") {
    def level(version: Int, level: String, effective: String, standby: Boolean = false) = {
      val of = server.copy(version = version, walLevel = level, effectiveWalLevel = effective, isStandby = standby)
      Preflight.check(facts.copy(server = of), needs).find(_.name == "wal_level").map(one => one.finding -> one.mend)
    }
    val restart = Some("ALTER SYSTEM SET wal_level = logical; /* then restart the server */")
    val raised = "replica, which the first logical slot raises to logical"
    assert(level(180003, "replica", "replica").contains("replica" -> restart))
    assert(level(190000, "minimal", "minimal").contains("minimal" -> restart))
    assert(level(190000, "replica", "replica").contains(raised -> None))
    assert(level(190000, "replica", "logical").contains("replica, in effect logical" -> None))
    assert(level(190000, "logical", "logical").contains("logical" -> None))
    assert(level(190000, "replica", "logical", standby = true).contains("replica, in effect logical" -> None))
    val primary = Some("/* create a logical slot on the primary, or set wal_level = logical there */")
    assert(level(190000, "replica", "replica", standby = true).contains("replica" -> primary))
  }

  test("a table without an identity for its updates is refused, unless its publication has inserts only") {
    val keyless = orders.copy(primaryKey = Nil)
    assert(missing(facts.copy(tables = Seq(keyless))).mkString.contains("REPLICA IDENTITY FULL"))
    assert(missing(facts.copy(tables = Seq(orders.copy(identity = "n")))).mkString.contains("REPLICA IDENTITY DEFAULT"))
    assert(missing(facts.copy(tables = Seq(keyless.copy(identity = "f")))).isEmpty)
    assert(missing(facts.copy(tables = Seq(keyless.copy(identity = "i", identityColumns = Seq("note"))))).isEmpty)
    val inserts = facts.copy(tables = Seq(keyless), publication = Some(publication.copy(operations = Set("insert"))))
    assert(missing(inserts, needs.copy(operations = Set("insert"))).isEmpty)
  }

  test("a publication without updates is refused, unless the query wants none") {
    val some = facts.copy(publication = Some(publication.copy(operations = Set("insert", "delete"))))
    def found(operations: String*) = missing(some, needs.copy(operations = operations.toSet))
    assert(missing(some) == Seq(
      "ALTER PUBLICATION orders SET (publish = 'insert, update, delete, truncate'); /* or set {option:operations} */"))
    assert(found("insert", "delete").isEmpty && found("insert").isEmpty && found("insert", "truncate").nonEmpty)
  }

  test("pre-images need the whole old row") {
    val found = missing(facts, needs.copy(preimages = true))
    assert(found == Seq("ALTER TABLE public.orders REPLICA IDENTITY FULL;"))
  }

  test("row-level security matters where rows are copied, and children where they are not captured themselves") {
    val hidden = facts.copy(tables = Seq(orders.copy(isFiltered = true)))
    assert(missing(hidden) == Seq("ALTER ROLE cdc BYPASSRLS;"))
    assert(missing(hidden, needs.copy(copies = false)).isEmpty)
    val parent = orders.copy(children = Seq("public.child"))
    def warnings(tables: TableFacts*) =
      Preflight.check(facts.copy(tables = tables), needs).filter(_.severity == Severity.Warning).map(_.finding)
    assert(warnings(parent) == Seq("without the rows of public.child"))
    assert(warnings(parent, orders.copy(table = "child")).isEmpty)
  }

  test("a publication must have the table, whole and with its partitions") {
    val lacking = publication.copy(tables = Map.empty)
    assert(missing(facts.copy(publication = Some(lacking))) == Seq(
      "BEGIN; LOCK TABLE ONLY public.orders IN SHARE ROW EXCLUSIVE MODE; ALTER PUBLICATION orders ADD TABLE ONLY public.orders; COMMIT;"))
    val partitioned = facts.copy(tables = Seq(orders.copy(kind = "p")), publication = Some(publication))
    assert(missing(partitioned) == Seq("ALTER PUBLICATION orders SET (publish_via_partition_root = true);"))
    val part = PublishedTable(Seq("id", "note"), Some("(id > 5)"), isListed = false)
    def unfiltered(table: PublishedTable) =
      missing(facts.copy(publication = Some(publication.copy(tables = Map("public.orders" -> table)))))
    def again(columns: String) = Seq(
      s"BEGIN; ALTER PUBLICATION orders DROP TABLE ONLY public.orders; ALTER PUBLICATION orders ADD TABLE ONLY public.orders$columns; COMMIT; /* a filter turns updates into inserts and deletes */")
    assert(unfiltered(part) == again(""))
    assert(unfiltered(part.copy(isListed = true)) == again(" (id, note)"))
  }

  test("of an unnamed slot or publication nothing is checked") {
    def names(ofPublication: Boolean, ofSlot: Boolean) =
      Preflight.check(facts, needs, ofPublication, ofSlot).map(_.name).filter(_.contains("orders")).toSet
    assert(
      !names(ofPublication = false, ofSlot = false).exists(name => name.startsWith("slot") || name.startsWith("pub")))
    assert(names(ofPublication = true, ofSlot = false)("publication orders"))
    assert(names(ofPublication = false, ofSlot = true)("slot orders"))
  }

  test("a slot that the server is about to give up is a warning") {
    def retained(status: String, safe: Option[Long]) = Preflight
      .check(facts.copy(slot = Some(slot.copy(status = status, retained = Some(9), safe = safe))), needs)
      .find(_.name == "slot orders, retained")
      .map(point => point.severity -> point.finding)
    assert(retained("reserved", None).contains(Severity.Fine -> "9 bytes"))
    assert(retained("unreserved", Some(5)).contains(Severity.Warning -> "9 bytes, lost after 5 more"))
  }

  test("what the server hides from the role is reported as unknown") {
    def finding(point: String, own: SlotFacts) =
      Preflight.check(facts.copy(slot = Some(own)), needs).find(_.name == s"slot orders, $point").map(_.finding)
    assert(finding("reader", slot.copy(user = Some(SlotUser(7, Some(3))))).contains("process 7 for 3 s"))
    assert(finding("reader", slot.copy(user = Some(SlotUser(7, None)))).contains("process 7 for an unknown time"))
    assert(finding("retained", slot.copy(retained = None)).contains("an unknown number of bytes"))
  }

  test("only its owner can publish a table: others get the statement for the owner") {
    val foreign = facts.copy(tables = Seq(orders.copy(isOwned = false)))
    assert(
      missing(foreign) == Seq(
        "CREATE PUBLICATION orders FOR TABLE ONLY public.orders; /* as the owner of the tables */"))
  }

  test("a slot of another plugin or database, or one that was invalidated, is not used") {
    def withSlot(slot: SlotFacts) = missing(facts.copy(slot = Some(slot), publication = Some(publication)))
    assert(withSlot(slot.copy(plugin = "wal2json")).nonEmpty)
    assert(withSlot(slot.copy(database = "other")).nonEmpty)
    assert(withSlot(slot.copy(status = "lost")).nonEmpty)
    assert(withSlot(slot.copy(invalidation = Some("idle_timeout"))).nonEmpty)
    assert(withSlot(slot.copy(twoPhase = true)).nonEmpty)
  }

  test("a standby that may be behind the query, and a slot that standbys lack, are warnings from PostgreSQL 17 on") {
    def warnings(server: Server) = Preflight
      .check(
        facts.copy(server = server, slot = Some(slot.copy(failover = false)), publication = Some(publication)),
        needs)
      .filter(_.severity == Severity.Warning)
    val withStandbys = server.copy(standbys = Seq("a", "b"))
    assert(warnings(withStandbys).map(_.name) == Seq("synchronized_standby_slots", "slot orders, failover"))
    assert(
      warnings(withStandbys).flatMap(_.mend) == Seq(
        "ALTER SYSTEM SET synchronized_standby_slots = a, b; SELECT pg_reload_conf();"))
    assert(warnings(withStandbys.copy(version = 160000)).isEmpty)
    assert(warnings(withStandbys.copy(isStandby = true)).isEmpty)
  }

  test("names that need quotes have them in every statement") {
    val odd = orders.copy(schema = "My Schema", table = "or\"ders", isReadable = false)
    val found = missing(facts.copy(server = server.copy(role = "a-b"), tables = Seq(odd)))
    assert(
      found == Seq(
        "GRANT USAGE ON SCHEMA \"My Schema\" TO \"a-b\"; GRANT SELECT ON \"My Schema\".\"or\"\"ders\" TO \"a-b\";"))
  }
}
