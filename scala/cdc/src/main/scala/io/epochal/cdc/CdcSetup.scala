package io.epochal.cdc

import java.lang.Long.compareUnsigned
import java.sql.Connection
import java.util.Locale

import org.apache.spark.sql.types.{StringType, StructField, StructType}

import io.epochal.cdc.change._
import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.cdc.pgoutput.{Bytes, RelationColumn}
import io.epochal.cdc.slot._
import io.epochal.cdc.snapshot.{ContainedChanges, Copied, Snapshot}
import io.epochal.cdc.value.{PostgresColumn, RowReader, ValueReader}
import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.hash.Sha256
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

/** Prepares the server for a query, and checks that it still is what it was.
  *
  * @param checkpoint
  *   the source's directory, from which the slot's name is made
  * @param table
  *   as it was when the query was planned
  */
final private[cdc] class CdcSetup(
    options: CdcOptions,
    val server: CaptureServer,
    checkpoint: String,
    table: TableFacts,
    columns: Seq[PostgresColumn],
    binary: Boolean,
    threads: => Int) {

  private val needs = new CdcNeeds(options, server)

  @volatile private var standby = false
  @volatile private var version = 0

  def isStandby: Boolean = standby

  /** Creates what is missing on the server, at the first start of a query. */
  def begin(): CdcOrigin = {
    val wanted = needs.wanted(options.slot.getOrElse(defaultSlot), None)
    server.sql { connection =>
      val facts = needs.facts(connection, table, wanted)
      needs.refuse(table, facts, wanted)
      if (facts.publication.isEmpty) createPublication(connection, wanted.publication)
      if (facts.slot.isEmpty) createSlot(connection, wanted.slot)
      val slot = ServerFacts.slot(connection, wanted.slot).flatMap(_.confirmed).getOrElse(0L)
      CdcOrigin(
        wanted.slot,
        wanted.publication,
        facts.server.systemId,
        facts.server.timeline,
        start(connection, slot, existed = facts.slot.nonEmpty),
        snapshot = options.starting == CdcStart.Initial)
    }
  }

  /** Checks the server before its changes are read.
    *
    * @throws EpochalException
    *   with everything that is missing, or what has changed
    */
  def check(origin: CdcOrigin, state: ChangeState): Unit = server.sql { connection =>
    val wanted = needs.wanted(origin.slot, Some(origin.publication))
    val facts = needs.facts(connection, table, wanted)
    val Server(_, system, timeline, _, _, _, isStandby, _, _, _, _, _) = facts.server
    standby = isStandby
    version = facts.server.major
    if (system != origin.system)
      throw changed(s"another system identifier, $system instead of ${origin.system}")
    if (timeline != origin.timeline && !facts.slot.exists(_.failover.contains(true)))
      throw changed(s"another timeline, $timeline instead of ${origin.timeline}")
    val slot = facts.slot.getOrElse(throw lost(origin.slot, "does not exist"))
    if (slot.status == "lost" || slot.invalidation.nonEmpty)
      throw lost(origin.slot, s"was invalidated${slot.invalidation.fold("")(reason => s" ($reason)")}")
    val reached = state.last.fold(origin.start)(_.transaction.lsn)
    if (slot.confirmed.exists(compareUnsigned(_, reached) > 0))
      throw lost(
        origin.slot,
        s"was moved to ${Lsn.show(slot.confirmed.get)}, beyond the ${Lsn.show(reached)} of the checkpoint")
    needs.refuse(table, facts, wanted.copy(createsSlot = false))
  }

  /** Where the server's log ends now. */
  def currentEnd(): Long = server.sql(
    Sql
      .query(
        _,
        "SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END - '0/0')::bigint")(
        _.getLong(1))
      .head)

  def stream(origin: CdcOrigin, from: Long): SlotStream =
    server.stream(origin.slot, origin.publication, from, binary && version >= 14, messages = version >= 14)

  /** Which tables are captured, as the server defines them where its changes are read.
    *
    * @param before
    *   the definition that was accepted last
    * @throws EpochalException
    *   TABLE_CHANGED, if it is another one, unless the query adopts it
    */
  def capture(found: Relation, before: Option[Relation]): Option[Captured] =
    Option.when(found.schema == table.schema && found.table == table.table) {
      val known = before.map(_.columns).getOrElse(found.columns)
      val (added, lacking) = (CdcSetup.without(found.columns, known), CdcSetup.without(known, found.columns))
      if (lacking.nonEmpty || added.nonEmpty && !options.adoptsSchema)
        throw Conditions.TableChanged("table" -> table.name, "change" -> CdcSetup.change(added, lacking))
      Captured(found, ChangeRules.key(found, table.primaryKey))
    }

  /** Whether a TRUNCATE becomes a row. */
  def truncated(relation: Relation): Boolean = options.onTruncate match {
    case OnTruncate.Emit   => true
    case OnTruncate.Ignore => false
    case OnTruncate.Fail   => throw Conditions.TableTruncated("table" -> s"${relation.schema}.${relation.table}")
  }

  /** Copies the rows of the table. */
  def snapshot(
      origin: CdcOrigin,
      append: (Int, Bytes, ChangeState, ChangeState) => Unit,
      pause: () => Unit): Snapshot = {
    val published = server.sql(ServerFacts.publication(_, origin.publication)).flatMap(_.tables.get(table.name))
    val sent = columns.filter(column => published.forall(of => of.columns.isEmpty || of.columns.contains(column.name)))
    val identity = table.identity.head
    val relation = Relation.of(
      table.oid.toInt,
      table.schema,
      table.table,
      identity,
      sent.map(column =>
        RelationColumn(column.name, table.primaryKey.contains(column.name), column.oid.toInt, column.modifier)))
    val copied = Copied(
      table,
      relation,
      sent.map(column => if (binary) quoted(column.name) else s"${quoted(column.name)}::text"),
      binary,
      comparableKey.map(column => quoted(column.name) -> column.kind.declared)
    )
    new Snapshot(server, copied, origin.start - 1, threads, append, pause)
  }

  /** The primary key, if a snapshot can be continued by it. */
  private def comparableKey: Seq[PostgresColumn] = {
    val key = table.primaryKey.flatMap(name => columns.find(_.name == name))
    if (key.forall(column => CdcSetup.KeyTypes(column.kind.name))) key else Nil
  }

  /** Refuses to read the rows again that a stopped run has read, if the rest cannot be found. */
  def checkContinues(snapshot: SnapshotState): Unit =
    if (snapshot.rows > 0 && comparableKey.isEmpty) throw Conditions.SnapshotInterrupted("table" -> table.name)

  /** Which changes the snapshot shows already. */
  def contained(snapshot: SnapshotState): Contained = new ContainedChanges(snapshot, locate)

  /** The server compares keys: it alone knows their order. */
  private def locate(captured: Captured, row: Bytes, bounds: Seq[Seq[String]]): Int = {
    val key = captured.key.map(captured.relation.columns(_).name).flatMap(name => columns.find(_.name == name))
    val reader = new RowReader(
      table.name,
      captured.relation.columns.map(known),
      StructType(key.map(column => StructField(column.name, ValueReader.sparkType(column.kind).getOrElse(StringType)))))
    val values = new Array[Any](key.size)
    reader.tuple(row.array, row.offset, values): Unit
    def literals(texts: Seq[String]) =
      texts
        .zip(key)
        .map { case (text, column) => s"'${text.replace("'", "''")}'::${column.kind.declared}" }
        .mkString("(", ", ", ")")
    val own = literals(values.toSeq.map(String.valueOf(_)))
    val cases = bounds.zipWithIndex.map { case (bound, i) => s"WHEN $own <= ${literals(bound)} THEN $i" }
    server.sql(Sql.query(_, s"SELECT CASE ${cases.mkString(" ")} ELSE ${bounds.size} END")(_.getInt(1)).head)
  }

  private def known(column: RelationColumn): PostgresColumn =
    columns.find(_.name == column.name).getOrElse(columns.head.copy(name = column.name))

  private def createPublication(connection: Connection, name: String): Unit = {
    val root = if (table.kind == "p") " WITH (publish_via_partition_root = true)" else ""
    Sql.run(connection, s"CREATE PUBLICATION ${quoted(name)} FOR TABLE ${table.sql}$root")
  }

  private def createSlot(connection: Connection, name: String): Unit =
    sql"SELECT pg_catalog.pg_create_logical_replication_slot($name, 'pgoutput')".query(connection)(_.getString(1)): Unit

  private def start(connection: Connection, slot: Long, existed: Boolean): Long = options.starting match {
    case CdcStart.Latest if existed =>
      Sql.query(connection, "SELECT (pg_catalog.pg_current_wal_lsn() - '0/0')::bigint")(_.getLong(1)).head
    case CdcStart.At(lsn) if compareUnsigned(lsn, slot) < 0 =>
      throw lost(options.slot.getOrElse(defaultSlot), s"begins at ${Lsn.show(slot)}, after ${Lsn.show(lsn)}")
    case CdcStart.At(lsn) => lsn
    case _                => slot
  }

  private def changed(what: String): EpochalException =
    Conditions.ServerChanged("url" -> server.place, "change" -> what)

  private def lost(slot: String, what: String): EpochalException =
    Conditions.SlotLost("slot" -> slot, "url" -> server.place, "what" -> what)

  private def quoted(name: String): String = "\"" + name.replace("\"", "\"\"") + "\""

  /** The same at every first start of a checkpoint. */
  private def defaultSlot: String = {
    val plain = table.table.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9_]", "_").take(40)
    s"epochal_${plain}_${Sha256.hex(s"$checkpoint ${options.source}", 4)}"
  }
}

private object CdcSetup {

  /** Types of keys whose values are read as the server prints them. */
  val KeyTypes: Set[String] = Set("int2", "int4", "int8", "numeric", "text", "varchar", "uuid", "date")

  /** The columns that another definition does not have, by name and type. */
  def without(columns: Seq[RelationColumn], other: Seq[RelationColumn]): Seq[RelationColumn] =
    columns.filterNot(column =>
      other.exists(one => one.name == column.name && one.typeOid == column.typeOid && one.modifier == column.modifier))

  def change(added: Seq[RelationColumn], lacking: Seq[RelationColumn]): String = {
    val retyped = lacking.map(_.name).intersect(added.map(_.name))
    def listed(what: String, names: Seq[String]) = Option.when(names.nonEmpty)(s"$what ${names.mkString(", ")}")
    Seq(
      listed("another type of", retyped),
      listed("without", lacking.map(_.name).diff(retyped)),
      listed("with", added.map(_.name).diff(retyped))).flatten.mkString(", ")
  }
}
