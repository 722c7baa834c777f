package io.epochal.cdc

import java.lang.Long.compareUnsigned
import java.sql.Connection
import java.util.Locale

import io.epochal.cdc.change._
import io.epochal.cdc.pgoutput.Message.{Begin, Relation}
import io.epochal.cdc.pgoutput.{Bytes, RelationColumn}
import io.epochal.cdc.slot._
import io.epochal.cdc.snapshot.{ContainedChanges, ContainedInTables, Copied, Snapshot, TableKey}
import io.epochal.cdc.value.{PostgresColumn, PostgresType, TypeText}
import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.hash.Sha256
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._
import io.epochal.kit.spark.RunningQuery

/** Prepares the server for a query, and checks that it still is what it was.
  *
  * @param checkpoint
  *   the source's directory, from which the slot's name is made
  * @param watch
  *   None: of a batch, which has no checkpoint
  */
final private[cdc] class CdcSetup(
    options: CdcOptions,
    val server: CaptureServer,
    checkpoint: String,
    tables: CdcTables,
    binary: Boolean,
    threads: => Int,
    watch: Option[CatalogWatch] = None) {

  private val needs = new CdcNeeds(options, server)

  /** Types, by their OIDs. */
  @volatile private var types: Map[Int, PostgresType] =
    tables.all.flatMap(_.columns).map(column => column.oid.toInt -> column.kind).toMap

  /** Names of the tables, by their OIDs: those of the first start, and those that were added later. */
  @volatile private var known: Map[Long, String] =
    if (tables.isSeveral) Map.empty else Map(tables.only.facts.oid -> tables.only.facts.name)

  @volatile private var standby = false
  @volatile private var version = 0

  def isStandby: Boolean = standby

  /** Creates what is missing on the server, at the first start of a query. */
  def begin(): CdcOrigin = {
    val wanted = needs.wanted(options.slot.getOrElse(defaultSlot), None)
    val report = RunningQuery.messageOfThisThread()
    server.sql { connection =>
      val facts = needs.facts(connection, tables, wanted)
      needs.refuse(tables, facts, wanted)
      if (options.starting == CdcStart.Initial) needs.refuseSnapshot(tables, facts.server.isStandby)
      if (facts.publication.isEmpty) needs.createPublication(connection, tables, wanted.publication, facts.server)
      // Before the slot: no later change of it is missed.
      watch.foreach(_.begin(connection, wanted.publication, tables.all.map(_.facts.oid)))
      Failpoints.reach(Failpoint.PublicationCreated)
      facts.slot match {
        case None => SlotCreation.create(server, connection, wanted.slot, facts.server)(report)
        // Standbys lack it.
        case Some(slot) => if (facts.server.hasFailover && !slot.failover) server.addFailover(slot.name)
      }
      Failpoints.reach(Failpoint.SlotCreated)
      val slot = ServerFacts.slot(connection, wanted.slot).flatMap(_.confirmed).getOrElse(0L)
      val begins = start(connection, slot, existed = facts.slot.nonEmpty)
      CdcOrigin(
        wanted.slot,
        wanted.publication,
        facts.server.systemId,
        facts.server.timeline,
        begins,
        snapshot = options.starting == CdcStart.Initial,
        if (tables.isSeveral) tables.all.map(table => table.facts.name -> table.facts.oid).toMap else Map.empty,
        if (tables.schemas.isEmpty) None
        else NewTables.since(connection, facts.server, wanted.publication, tables.schemas),
        Option.unless(tables.isSeveral)(tables.only.facts.name -> tables.only.facts.oid),
        isWatched = watch.nonEmpty
      )
    }
  }

  /** Checks the server before its changes are read, and returns the state of the slot.
    *
    * @throws EpochalException
    *   with everything that is missing, or what has changed
    */
  def check(origin: CdcOrigin, state: ChangeState): SlotFacts = server.catalog { connection =>
    val wanted = needs.wanted(origin.slot, Some(origin.publication))
    val facts = needs.facts(connection, tables, wanted)
    val found = facts.server
    standby = found.isStandby
    version = found.major
    if (found.systemId != origin.system)
      throw changed(
        s"another system identifier, ${found.systemId} instead of ${origin.system}, as a new installation or a restored dump has")
    // A standby that was promoted. Other slots may have been created on it, too late.
    if (found.timeline != origin.timeline && !facts.slot.exists(slot => slot.failover && slot.isSynced))
      throw changed(
        s"another timeline, ${found.timeline} instead of ${origin.timeline}, as a promoted standby or a backup restored to a point in time has, and no slot ${origin.slot} from its primary")
    val slot = facts.slot.getOrElse(throw lost(origin.slot, "does not exist"))
    if (slot.status == "lost" || slot.invalidation.nonEmpty)
      throw lost(origin.slot, s"was invalidated${slot.invalidation.fold("")(reason => s" ($reason)")}")
    val reached = state.last.fold(origin.start)(_.transaction.lsn)
    // The log of a standby may end earlier after its restart.
    if (!found.isStandby && compareUnsigned(found.end, reached) < 0)
      throw changed(
        s"a log up to ${Lsn.show(found.end)}, before the ${Lsn.show(reached)} of the checkpoint, as a restored older copy of its files has")
    if (slot.confirmed.exists(compareUnsigned(_, reached) > 0))
      throw lost(
        origin.slot,
        s"was moved to ${Lsn.show(slot.confirmed.get)}, beyond the ${Lsn.show(reached)} of the checkpoint")
    if (facts.publication.isEmpty && origin.isWatched) throw CdcSetup.droppedPublication(origin)
    needs.refuse(tables, facts, wanted.copy(createsSlot = false, copies = left(origin, state).nonEmpty))
    checkTables(origin, state)
    watch.foreach(_.open(connection, origin, state, tableOids))
    for (before <- state.definitions.get(tables.only.facts.oid.toInt) if options.adoptsSchema) {
      val names = tables.only.columns.map(_.name).filter(name => tables.chosen.forall(_(name)))
      val news = names.diff(before.columns.map(_.name))
      def inLog = watch.toSeq.flatMap(_.loggedColumns(connection, origin, tables.only.facts.oid))
      val suspects = if (news.isEmpty) news else news.diff(inLog)
      // It may read the whole table.
      if (suspects.nonEmpty) server.sql(UnloggedValues.refusal(_, tables.only.facts, suspects)).foreach(throw _)
    }
    slot
  }

  /** The server's estimate of the rows of some tables. */
  def expectedRows(of: Seq[CdcTable]): Long = server.sql { connection =>
    of.map { table =>
      val plan =
        Sql.query(connection, s"EXPLAIN (FORMAT JSON) SELECT FROM ${table.facts.rows}")(_.getString(1)).mkString
      CdcSetup.PlanRows.findFirstMatchIn(plan).fold(0L)(_.group(1).toLong)
    }.sum
  }

  def stream(origin: CdcOrigin, from: Long): SlotStream =
    server.stream(origin.slot, origin.publication, from, binary && version >= 14, messages = version >= 14)

  /** Which tables are captured, as the server defines them where its changes are read.
    *
    * @param before
    *   the definition that was accepted last
    * @throws EpochalException
    *   TABLE_CHANGED, if it is another one, unless the query adopts it
    */
  def capture(origin: CdcOrigin)(found: Relation, before: Option[Relation]): Option[Captured] =
    if (tables.isSeveral) captureAny(origin, found, before) else captureOnly(origin, tables.only.facts, found, before)

  private def captureOnly(
      origin: CdcOrigin,
      table: TableFacts,
      found: Relation,
      before: Option[Relation]): Option[Captured] = {
    val oid = Integer.toUnsignedLong(found.oid)
    Option.when(known.contains(oid) || found.name == table.name) {
      checkTable(origin, oid, found.name)
      new DefinitionCheck(options, server, tables.only, watch).check(found, before, origin.publication)
      Captured(found, table.primaryKey)
    }
  }

  /** Of several tables: takes any definition, since a generic row names its columns. */
  private def captureAny(origin: CdcOrigin, found: Relation, before: Option[Relation]): Option[Captured] = {
    val oid = Integer.toUnsignedLong(found.oid)
    Option.when(known.contains(oid) || tables.takes(found.schema, found.table)) {
      checkTable(origin, oid, found.name)
      val facts =
        tables.byOid(oid).map(_.facts).orElse(server.look(ServerFacts.tables(_, sql"c.oid = $oid")).headOption)
      val unknown = found.columns.map(_.typeOid).filterNot(types.contains)
      if (unknown.nonEmpty) types ++= server.look(PostgresColumn.types(_, unknown))
      def described(column: RelationColumn) = types.get(column.typeOid).orElse {
        val at = before.toSeq.flatMap(_.columns).indexWhere(_.typeOid == column.typeOid)
        before.flatMap(relation => TypeText.read(relation.types).lift(at))
      }
      val whole = found.withTypes(TypeText.write(found.columns.map(described)))
      Captured(whole, facts.toSeq.flatMap(_.primaryKey))
    }
  }

  /** Refuses generic rows from a checkpoint of one table, and the reverse. */
  def checkRows(origin: CdcOrigin): Unit =
    if (tables.isSeveral != origin.tables.nonEmpty)
      throw tablesChanged(s"it has ${if (tables.isSeveral) "one" else "several"}")

  private def checkTables(origin: CdcOrigin, state: ChangeState): Unit = {
    known = (origin.tables ++ origin.table).map(_.swap) ++ state.definitions.values.map(table =>
      Integer.toUnsignedLong(table.oid) -> table.name)
    val found = tables.all.map(_.facts)
    // A checkpoint of an older release that has no change yet.
    if (known.isEmpty) known = found.map(table => table.oid -> table.name).toMap
    found.foreach(table => checkTable(origin, table.oid, table.name))
    val missing = known.view.filterKeys(oid => !found.exists(_.oid == oid)).values
    if (tables.isSeveral && tables.schemas.isEmpty && missing.nonEmpty)
      throw tablesChanged(s"${missing.mkString(", ")} was left out")
  }

  /** Refuses a table under another name, another one under its name, and one that the checkpoint does not have, unless all the rows
    * that it ever had are in the log since the first start.
    */
  private def checkTable(origin: CdcOrigin, oid: Long, name: String): Unit = {
    renamed(oid, name).foreach(throw _)
    if (!known.contains(oid)) {
      if (!tables.isSeveral) throw anotherTable(name)
      if (!origin.newTables.exists(since => server.look(NewTables.isWhole(_, oid, since))))
        throw tablesChanged(s"$name was added, and may have rows from before")
      known += oid -> name
    }
  }

  /** The error for a table under another name, and for another one under its name. */
  private def renamed(oid: Long, name: String): Option[EpochalException] = known.get(oid) match {
    case Some(before) => Option.when(before != name)(tablesChanged(s"$before is now $name"))
    case None         => Option.when(known.exists(_._2 == name))(tablesChanged(s"$name was created again"))
  }

  /** As in [[CatalogWatch.ddlRefusal]]. */
  def ddlRefusal(origin: CdcOrigin)(statement: String): Option[Option[EpochalException]] =
    watch.flatMap(_.ddlRefusal(origin, statement))

  /** OIDs of the tables. */
  private def tableOids: Iterable[Long] = known.keys

  /** The end of the server's log, and the error, if a change of its tables or catalog may have hidden or changed rows.
    *
    * @param truncated
    *   as in [[CatalogWatch.look]]
    */
  def changes(
      connection: Connection,
      origin: CdcOrigin,
      truncated: Option[Long] = None): Option[(Long, EpochalException)] =
    changedTable(connection).orElse(watch.flatMap(_.look(connection, origin, tableOids, truncated)))

  /** The error for a table that was renamed, or whose name another table has: its new rows may not be published. */
  private def changedTable(connection: Connection): Option[(Long, EpochalException)] = {
    val end = ServerFacts.end(connection)
    val names = Sql.list(known.values.toSeq)
    val found = sql"""SELECT c.oid::bigint AS oid, n.nspname || '.' || c.relname AS name
                     |FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                     |WHERE c.oid IN ${Sql.list(known.keys.toSeq)} OR n.nspname || '.' || c.relname IN $names"""
      .query(connection)(rows => rows.getLong("oid") -> rows.getString("name"))
    val dropped = tables.all.map(_.facts).filterNot(table => tables.isSeveral || found.exists(_._1 == table.oid))
    val changes = found.flatMap { case (oid, name) => renamed(oid, name) } ++
      dropped.map(table => tablesChanged(s"${table.name} was dropped"))
    changes.headOption.map(end -> _)
  }

  private def tablesChanged(change: String): EpochalException = Conditions.TablesChanged("change" -> change)

  /** The name stands for another table than before. */
  private def anotherTable(name: String): EpochalException = {
    val before = known.values.head
    Conditions.TablesChanged.withHint(
      s"Name the table of the checkpoint: {option:dbtable=$before}, {option:sourceId=${options.source}}.")(
      "change" -> s"$name instead of $before")
  }

  /** Whether a TRUNCATE becomes a row. */
  def truncated(relation: Relation): Boolean = options.onTruncate match {
    case OnTruncate.Emit   => true
    case OnTruncate.Ignore => false
    case OnTruncate.Fail   => throw Conditions.TableTruncated("table" -> s"${relation.schema}.${relation.table}")
  }

  /** The tables whose rows are not all copied. */
  def left(origin: CdcOrigin, state: ChangeState): Seq[CdcTable] =
    if (!origin.snapshot || state.last.nonEmpty) Nil
    else
      tables.all.filter { table =>
        val isKnown = !tables.isSeveral || origin.tables.exists(_._2 == table.facts.oid)
        isKnown && !state.snapshot(number(table)).isComplete
      }

  /** The key of a table's snapshot in the state. */
  private def number(of: CdcTable): Int = if (tables.isSeveral) of.facts.oid.toInt else SnapshotState.OnlyTable

  /** Copies the rows of a table.
    *
    * @throws EpochalException
    *   SNAPSHOT_INTERRUPTED, if a stopped run has read some, and the rest cannot be found
    */
  def snapshot(
      origin: CdcOrigin,
      of: CdcTable,
      begun: ChangeState,
      append: (Int, Bytes, ChangeState, ChangeState) => Unit,
      pause: () => Unit): Snapshot = {
    needs.refuseSnapshot(tables, standby)
    val CdcTable(table, columns) = of
    val key = TableKey.of(table, columns)
    if (begun.snapshot(number(of)).ranges.nonEmpty && key.isEmpty)
      throw Conditions.SnapshotInterrupted("table" -> table.name)
    val identity = table.identity.head
    val relation = Relation.of(table.oid.toInt, table.schema, table.table, identity, DefinitionCheck.defined(of))
    val copied = Copied(
      number(of),
      table,
      if (tables.isSeveral) relation.withTypes(TypeText.write(columns.map(column => Some(column.kind)))) else relation,
      columns.map(column =>
        if (binary) Sql.quoted(column.name) else TableKey.printed(Sql.quoted(column.name), column.kind)),
      binary,
      key
    )
    val check = new DefinitionCheck(options, server, of, watch).checkUnchanged(_, origin.publication)
    new Snapshot(server, copied, origin.start - 1, threads, check, append, pause)
  }

  /** Which changes the snapshot shows already. */
  def contained(state: ChangeState): Contained =
    if (tables.isSeveral) new ContainedInTables(state, locate)
    else new ContainedChanges(state.snapshot(SnapshotState.OnlyTable), locate)

  private def locate(captured: Captured, rows: Seq[Bytes], bounds: Seq[Seq[String]]): Seq[Int] = {
    val CdcTable(table, columns) = tables.byOid(Integer.toUnsignedLong(captured.relation.oid)).getOrElse(tables.only)
    val key = TableKey.of(table, columns).getOrElse(throw Conditions.SnapshotInterrupted("table" -> table.name))
    server.look(connection =>
      rows.grouped(CdcSetup.MaxKeys).flatMap(key.places(connection, captured, _, bounds)).toVector)
  }

  private def start(connection: Connection, slot: Long, existed: Boolean): Long = options.starting match {
    case CdcStart.Latest if existed =>
      Sql.query(connection, "SELECT (pg_catalog.pg_current_wal_lsn() - '0/0')::bigint")(_.getLong(1)).head
    case CdcStart.At(lsn) if compareUnsigned(lsn, slot) < 0 =>
      throw lost(options.slot.getOrElse(defaultSlot), s"begins at ${Lsn.show(slot)}, after ${Lsn.show(lsn)}")
    case CdcStart.At(lsn) => lsn
    case _                => slot
  }

  /** The error for a server that does not send the transaction that must follow. */
  def moved(origin: CdcOrigin)(known: Written, found: Begin): Throwable = {
    val Transaction(lsn, xid, _, _) = known.transaction
    Conditions.SlotMoved(
      "slot" -> origin.slot,
      "url" -> server.place,
      "expected" -> s"${Integer.toUnsignedString(xid)} at ${Lsn.show(lsn)}",
      "found" -> s"${Integer.toUnsignedString(found.xid)} at ${Lsn.show(found.commitLsn)}")
  }

  /** The error for changes from before the publication, which the server can decode no more. */
  def withoutPublication(origin: CdcOrigin, cause: Throwable): EpochalException =
    Conditions.SlotLost
      .withHint(
        s"Drop it: SELECT pg_drop_replication_slot('${origin.slot}'). Then load the table again: start the query with a new checkpoint and {option:startingOffset=initial}.")
      .because(cause)(
        "slot" -> origin.slot,
        "url" -> server.place,
        "what" -> s"has changes from before the publication ${origin.publication} was created")

  private def changed(what: String): EpochalException =
    Conditions.ServerChanged("url" -> server.place, "change" -> what)

  private def lost(slot: String, what: String): EpochalException =
    Conditions.SlotLost("slot" -> slot, "url" -> server.place, "what" -> what)

  /** The same at every first start of a checkpoint. */
  private def defaultSlot: String = {
    val plain = (if (tables.isSeveral) options.tables.toString else tables.only.facts.table)
      .toLowerCase(Locale.ROOT)
      .replaceAll("[^a-z0-9_]", "_")
      .take(40)
    s"epochal_${plain}_${Sha256.hex(s"$checkpoint ${options.source}", 4)}"
  }
}

private[cdc] object CdcSetup {

  /** The rows of a plan. */
  private val PlanRows = "\"Plan Rows\": (\\d+)".r

  /** Keys per query. */
  private val MaxKeys = 5000

  /** The error for a publication that is gone: without it the server cannot decode the slot's changes. */
  def droppedPublication(origin: CdcOrigin): EpochalException =
    Conditions.CaptureChanged.withHint(
      s"Load the table again: SELECT pg_drop_replication_slot('${origin.slot}'); then start the query with a new checkpoint and {option:startingOffset=initial}.")(
      "change" -> s"the publication ${origin.publication} was dropped")
}
