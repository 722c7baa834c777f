package io.epochal.cdc

import java.sql.Connection

import org.slf4j.{Logger, LoggerFactory}

import io.epochal.cdc.change.{CapturedTable, ChangeState, OnSchemaChange}
import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.cdc.pgoutput.RelationColumn
import io.epochal.cdc.reload.{ReloadFiles, ReloadPurpose, ReloadRequest, ReloadableTables}
import io.epochal.cdc.slot._
import io.epochal.cdc.value.{CatalogColumns, TypeText}
import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.database.SqlText._
import io.epochal.kit.database.{PostgresType, Sql}

/** The tables whose changes are read, as the server has them now.
  *
  * @param reloads
  *   gets the requests for rows that the log does not have. None: of a batch
  */
final private[cdc] class CapturedTables(plan: CapturePlan, origin: CdcOrigin, reloads: Option[ReloadFiles] = None)
    extends ReloadableTables {
  import plan.{options, server, tables, watch}

  /** Types by their OIDs. */
  @volatile private var types: Map[Int, PostgresType] =
    tables.all.flatMap(_.columns).map(column => column.kind.oid.toInt -> column.kind).toMap

  private val plannedTables = tables.all.map(table => table.facts.oid -> table.facts.name)

  @volatile private var names =
    TableNames(if (tables.isSeveral) Map.empty else plannedTables.toMap, tables.isSeveral, options.source)

  /** Whether tables can be reloaded. */
  @volatile private var mayReload = false

  /** The OIDs of tables that the checkpoint does not have, and that may have rows from before. */
  @volatile private var addedTables: Set[Long] = Set.empty

  /** Position of the last transaction before this run. */
  @volatile private var lastLsn = 0L

  /** Whether the query follows changes of its tables. */
  private def follows = watch.exists(_.follows)

  /** Compares the tables with those of the checkpoint, before their changes are read. */
  def check(connection: Connection, state: ChangeState): Unit = {
    val leftTables = reloads.fold(Set.empty[Long])(_.leftTables)
    plannedTables.filter(table => leftTables(table._1)).foreach { case (_, name) =>
      throw TableNames.error(s"$name was left out before")
    }
    val storedNames = (origin.tables ++ origin.table).map(_.swap) ++ state.definitions.values.map(table =>
      Integer.toUnsignedLong(table.oid) -> table.name)
    // A checkpoint of an older release that has no change yet has none.
    names = names.copy(byOid = if (storedNames.isEmpty) plannedTables.toMap else storedNames)
    addedTables = Set.empty
    lastLsn = state.last.fold(0L)(_.transaction.lsn)
    mayReload = plan.reloads && ServerFacts.hasSignals(connection)
    if (options.onSchemaChange == OnSchemaChange.Follow && !mayReload)
      throw CdcOptions.group.unsupported(
        "follow changes of its tables",
        "reloads need a primary with PostgreSQL 14 or newer, and no read of CHANGES",
        "Set {option:onSchemaChange=adopt}.")
    plannedTables.foreach { case (oid, name) =>
      val isAdded = tables.isSeveral && names.conflict(oid, name).isEmpty && !names.byOid.contains(oid)
      if (isAdded && mayReload) {
        addedTables += oid
        names = names.copy(byOid = names.byOid + (oid -> name))
      } else add(oid, name)
    }
    val missingTables = if (tables.isSeveral) leftOut(connection, state) else Set.empty[Long]
    names = names.copy(byOid = names.byOid -- missingTables)
    if (tables.schemas.nonEmpty && !tables.isGeneric)
      names.byOid.filterNot { case (oid, _) => tables.byOid(oid).nonEmpty }.values.foreach { name =>
        CapturedTables.log.warn(
          s"${options.source}: $name was dropped or left out: no more changes of it are delivered")
      }
    watch.foreach(_.open(connection, origin, state, names.byOid.keys))
    def require(request: ReloadRequest): Unit = reloads.foreach(_.require(request))
    // Before the first change is stored.
    if (origin.inChunks && state.last.isEmpty)
      (origin.tables.values ++ origin.table.map(_._2)).foreach(table =>
        require(ReloadRequest(0L, table, ReloadPurpose.Load)))
    addedTables.foreach { table =>
      require(ReloadRequest(0L, table, if (origin.inChunks) ReloadPurpose.Load else ReloadPurpose.Replace))
    }
    // It may read the whole table.
    def checkValues(table: CdcTable, columns: Seq[String]): Unit = {
      val refusal =
        try server.sql(UnloggedValues.refusal(_, table.facts, columns))
        catch {
          // A column was dropped meanwhile.
          case error: EpochalException => throw server.look(planRefusal(_)).getOrElse(error)
        }
      refusal.foreach { error =>
        if (follows) require(ReloadRequest(lastLsn, table.facts.oid, ReloadPurpose.Follow)) else throw error
      }
    }
    if (tables.rows == RowShape.Typed) newTables(state).foreach(table => checkValues(table, table.columns.map(_.name)))
    for (table <- tables.all if options.onSchemaChange != OnSchemaChange.Fail) {
      val oid = table.facts.oid
      val columns = table.columns.map(_.name).filter(tables.isChosen(oid, _))
      // A table without a change has no definition.
      val before = state.definitions.get(oid.toInt).map(_.columns.map(_.name)).orElse {
        watch.map(_.knownColumns(oid, isRead = true)).filter(_.nonEmpty)
      }
      val newColumns = columns.diff(before.getOrElse(columns))
      // It was generated, or not published.
      if (follows && newColumns.exists(watch.toSeq.flatMap(_.knownColumns(oid, isRead = false)).contains))
        require(ReloadRequest(lastLsn, oid, ReloadPurpose.Follow))
      def inLog = watch.toSeq.flatMap(_.loggedColumns(connection, origin, oid))
      val suspects = if (newColumns.isEmpty) newColumns else newColumns.diff(inLog)
      if (suspects.nonEmpty) checkValues(table, suspects)
    }
    for (files <- reloads; table <- missingTables.diff(leftTables)) files.leave(table)
  }

  /** Tables added since the first start that have had no change yet: their first definition in the log may lack columns that the query
    * reads.
    */
  private def newTables(state: ChangeState): Seq[CdcTable] = tables.all.filterNot { table =>
    addedTables(table.facts.oid) || state.definitions.contains(table.facts.oid.toInt) || origin.tables.exists(
      _._2 == table.facts.oid)
  }

  /** Whether all rows that a table ever had are in the log. */
  private def isWhole(oid: Long) = origin.newTables.exists(since => server.look(NewTables.isWhole(_, oid, since)))

  /** The OIDs of tables that the query leaves out and the publication does not have any more.
    *
    * @throws EpochalException
    *   TABLES_CHANGED: it still has one; or a transaction that may have its rows is stored in part
    */
  private def leftOut(connection: Connection, state: ChangeState): Set[Long] = {
    def isOfSchema(name: String) = tables.schemas.exists(schema => name.startsWith(s"$schema."))
    val missing =
      names.byOid.filterNot { case (oid, name) => plannedTables.exists(_._1 == oid) || isOfSchema(name) }
    def error(name: String, hint: String) =
      Conditions.TablesChanged.withHint(s"Add it to {option:dbtable} again$hint")("change" -> s"$name was left out")
    val publishedTables = ServerFacts.publication(connection, origin.publication).toSeq.flatMap(_.tables.keys)
    for ((oid, name) <- missing if publishedTables.contains(name)) {
      val drop =
        sql"""SELECT format('; or, to drop it, run this and start again: ALTER PUBLICATION %I DROP TABLE ONLY %s;', p.pubname, c.oid::regclass)
             |FROM pg_publication p JOIN pg_publication_rel r ON r.prpubid = p.oid JOIN pg_class c ON c.oid = r.prrelid
             |WHERE p.pubname = ${origin.publication} AND c.oid = $oid""".query(connection)(_.getString(1)).headOption
      throw error(name, drop.getOrElse(": the publication of its schema, or of all tables, still includes it."))
    }
    if (missing.nonEmpty && state.last.exists(!_.isComplete))
      throw error(
        missing.head._2,
        ", and drop it after a run that delivers all changes: the journal has only a part of a transaction.")
    missing.keySet
  }

  private def add(oid: Long, name: String): Unit = {
    val isNew = tables.isSeveral && mayReload && names.conflict(oid, name).isEmpty
    names.refusal(oid, name)(isWhole(oid)).foreach { error =>
      throw if (isNew && follows) Conditions.QueryOutdated("change" -> s"$name was added")
      else if (isNew)
        Conditions.TablesChanged.withHint(s"Start the query again: it copies the rows of $name first.")(
          "change" -> s"$name was added, and may have rows from before")
      else error
    }
    names = names.copy(byOid = names.byOid + (oid -> name))
  }

  /** The table of a definition, as the server defines it where its changes are read; None: its changes are not delivered.
    *
    * @param before
    *   the definition that was accepted last
    * @param lsn
    *   of the transaction; None: a snapshot contains it
    * @throws EpochalException
    *   TABLE_CHANGED, if it is another one, unless the query adopts it
    */
  def capture(relation: Relation, before: Option[Relation], lsn: Option[Long]): Option[CapturedTable] = {
    val oid = Integer.toUnsignedLong(relation.oid)
    val isCaptured =
      names.byOid.contains(oid) ||
        (if (tables.isSeveral) tables.takes(relation.schema, relation.table)
         else relation.name == tables.only.facts.name)
    if (!isCaptured) None
    else if (tables.rows == RowShape.Typed && tables.byOid(oid).isEmpty) {
      if (server.look(ServerFacts.tables(_, sql"c.oid = $oid")).nonEmpty) throw isNew(relation.name)
      None
    } else {
      add(oid, relation.name)
      if (tables.isGeneric) Some(generic(oid, relation, before))
      else {
        val plannedTable = tables.byOid(oid).getOrElse(tables.only)
        val check = new DefinitionCheck(options, server, plannedTable, watch)
        if (!follows) check.check(relation, before, origin.publication)
        else {
          if (!check.isPlanned(relation)) {
            server.look(planRefusal(_)).foreach(throw _)
            for (lsn <- lsn; files <- reloads; purpose <- purposeAfter(plannedTable, relation, before))
              files.require(ReloadRequest(lsn, oid, purpose), isResent = true)
          }
          check.checkIdentity(relation)
        }
        Some(CapturedTable(relation, plannedTable.facts.primaryKey))
      }
    }
  }

  private def follow(change: CatalogChange, lsn: Long): Unit = for (table <- change.tables; files <- reloads)
    if (change.isOfType) files.require(ReloadRequest(lastLsn, table, ReloadPurpose.Replace))
    else files.request(ReloadRequest(lsn, table, ReloadPurpose.Follow), again = true)

  /** Why the rows of an earlier definition lack values that the table has; None: they do not. */
  private def purposeAfter(table: CdcTable, relation: Relation, before: Option[Relation]): Option[ReloadPurpose] = {
    val readColumns = table.columns.filter(column => tables.isChosen(table.facts.oid, column.name))
    val sentColumns = relation.columns.map(_.name)
    val absent = readColumns.map(_.name).filterNot(sentColumns.contains)
    val isRenamed =
      absent.exists(before.toSeq.flatMap(_.columns).map(_.name).contains) ||
        absent.nonEmpty && sentColumns.exists(name => !table.columns.exists(_.name == name))
    if (TypedReader.other(relation, readColumns).nonEmpty) Some(ReloadPurpose.Replace)
    else Option.when(isRenamed)(ReloadPurpose.Follow)
  }

  /** The error for a query that was planned with other columns than its tables have. Also what the next start delivers is compared as it
    * was planned.
    */
  private def planRefusal(connection: Connection): Option[EpochalException] = if (!follows) None
  else {
    val now = CatalogColumns.of(connection, plannedTables.map(_._1), options.publication.orElse(options.slot))
    val changes = for {
      table <- tables.all if now(table.facts.oid).nonEmpty
      change <- new DefinitionCheck(options, server, table, watch).difference(now(table.facts.oid))(
        tables.isChosen(table.facts.oid, _))
    } yield s"${table.facts.name} ($change)"
    Option.when(changes.nonEmpty)(Conditions.QueryOutdated("change" -> changes.mkString(", ")))
  }

  /** The error for a table that was created while the query runs. */
  private def isNew(name: String): EpochalException = if (follows)
    Conditions.QueryOutdated("change" -> s"$name was created")
  else
    Conditions.TablesChanged.withHint(
      s"No reload is needed: run the program again, or repeat the read before you start the query. A DataFrame that was made earlier has no column for $name.")(
      "change" -> s"$name was created")

  /** Accepts any definition, since a generic row names its columns. */
  private def generic(oid: Long, relation: Relation, before: Option[Relation]): CapturedTable = {
    val facts =
      tables.byOid(oid).map(_.facts).orElse(server.look(ServerFacts.tables(_, sql"c.oid = $oid")).headOption)
    val newTypes = relation.columns.map(_.typeOid).filterNot(types.contains)
    if (newTypes.nonEmpty) types ++= server.look(CatalogColumns.types(_, newTypes))
    def typeOf(column: RelationColumn) = types.get(column.typeOid).orElse {
      val at = before.toSeq.flatMap(_.columns).indexWhere(_.typeOid == column.typeOid)
      before.flatMap(relation => TypeText.read(relation.types).lift(at))
    }
    CapturedTable(relation.withTypes(TypeText.write(relation.columns.map(typeOf))), facts.toSeq.flatMap(_.primaryKey))
  }

  /** Empty where the log cannot be marked: on a standby, before PostgreSQL 14, and for reads of CHANGES. */
  override def matching(request: String): Seq[Long] =
    if (!mayReload) Nil
    else
      names.byOid.toSeq.collect {
        case (oid, name) if (request == Signal.allOf(origin.slot) || request == name) && captures(oid) => oid
      }

  override def captures(oid: Long): Boolean =
    names.byOid.contains(oid) && (tables.isGeneric || tables.byOid(oid).nonEmpty)

  /** As in [[CatalogWatch.ddlRefusal]]. */
  def ddlRefusal(statement: String): Option[Option[EpochalException]] =
    watch.flatMap(_.ddlRefusal(origin, statement))

  /** The end of the server's log, and the error, if a change of the tables or of the catalog may have hidden or changed rows.
    *
    * @param truncatedTables
    *   as in [[CatalogWatch.look]]
    * @param isStart
    *   as there
    */
  def hiddenChange(
      connection: Connection,
      truncatedTables: Set[Long] = Set.empty,
      isStart: Boolean = false): Option[(Long, EpochalException)] = {
    val end = ServerFacts.end(connection)
    val current = sql"""SELECT c.oid::bigint AS oid, n.nspname || '.' || c.relname AS name
                       |FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                       |WHERE c.oid IN ${Sql.list(names.byOid.keys.toSeq)}
                       |  OR n.nspname || '.' || c.relname IN ${Sql.list(names.byOid.values.toSeq)}"""
      .query(connection)(rows => rows.getLong("oid") -> rows.getString("name"))
    names
      .change(current, plannedTables)
      .map(end -> _)
      .orElse(watch.flatMap(
        _.look(connection, origin, names.byOid.keys, truncatedTables, isStart)(planRefusal(connection))(follow)))
  }
}

private object CapturedTables {
  val log: Logger = LoggerFactory.getLogger(classOf[CapturedTables])
}
