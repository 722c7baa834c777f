package io.epochal.cdc.slot

import io.epochal.cdc.pgoutput.RelationColumn
import io.epochal.core.hash.Sha256

/** A change of the catalog that may have changed or hidden rows.
  *
  * @param table
  *   whose next row in the log shows the change: columns are gone, or have another type. None: the log never shows it
  * @param token
  *   identifies the change: equal as long as nothing else changes
  * @param tables
  *   OIDs of the tables whose rows it may have changed or hidden
  * @param endsLog
  *   whether the server can no longer send the changes of the slot
  * @param isLasting
  *   whether a reload may not help: rows stay hidden, or the replica is to be altered by hand
  * @param isOfType
  *   whether later rows have another form
  */
final private[cdc] case class CatalogChange(
    text: String,
    table: Option[String],
    token: String,
    tables: Set[Long],
    endsLog: Boolean = false,
    isLasting: Boolean = false,
    isOfType: Boolean = false)

/** Compares two states of the catalog. Ignores differences that affect no row: VACUUM FULL, CLUSTER, indexes, privileges, new columns,
  * new labels, new partitions.
  *
  * @param isRead
  *   whether the query reads a column of a table
  * @param isGeneric
  *   whether rows name their columns
  * @param ignoresRemoval
  *   whether rows may be removed without the log
  * @param follows
  *   whether changes lead to reloads: then it is no matter whether rows were removed or written again
  * @param rewritten
  *   OIDs of the tables and partitions whose rows were removed or written again
  */
final private[cdc] class CatalogChanges(
    before: CatalogFacts,
    now: CatalogFacts,
    isRead: (Long, String) => Boolean,
    isGeneric: Boolean,
    ignoresRemoval: Boolean,
    follows: Boolean,
    rewritten: Set[String]) {
  def all: Seq[CatalogChange] = {
    val tables = before.subjects("file").filter(now.subjects("file").contains)
    (publication ++ tables.flatMap(table => objects(table) ++ columnsOf(table) ++ files(table)) ++ types).distinct
  }

  private def hazard(text: String, facts: Seq[Fact], tables: Set[Long]): CatalogChange = {
    val entries = facts.map(fact => s"${fact.id} ${fact.value} ${fact.mark}").sorted
    CatalogChange(text, None, Sha256.hex((text +: entries).mkString("\n"), 4), tables)
  }

  private def publication: Seq[CatalogChange] = {
    val current = now.of("publication", 0)
    before.of("publication", 0).diff(current).map { old =>
      val change = current.headOption match {
        case None                          => "was dropped"
        case Some(one) if one.id != old.id => "was dropped and created again"
        case Some(one)                     => s"was altered; it publishes ${one.value}"
      }
      val endsLog = !current.exists(_.id == old.id)
      hazard(s"the publication ${old.name} $change", current, before.subjects("file").toSet)
        .copy(endsLog = endsLog, isLasting = true)
    }
  }

  /** A change of a table's row filter or list of columns gives its entry a new OID. */
  private def objects(table: Long): Seq[CatalogChange] = {
    val (old, current) = (before.of("object", table), now.of("object", table))
    if (old.isEmpty || old.map(_.id).intersect(current.map(_.id)).nonEmpty || before
        .of("publication", 0)
        .map(_.id) != now.of("publication", 0).map(_.id)) Nil
    else if (current.isEmpty)
      Seq(hazard(s"${old.head.name} left the publication", Nil, Set(table)).copy(isLasting = true))
    else
      Seq(
        hazard(
          s"${old.head.name} left the publication for a while, or has another row filter or list of columns in it",
          current,
          Set(table)).copy(isLasting = true))
  }

  private def columnsOf(table: Long): Seq[CatalogChange] = {
    val name = now.of("file", table).find(_.id == table.toString).fold("")(_.name)
    val (old, current) = (before.of("column", table).filter(column => isRead(table, column.name)), now.columns(table))
    val isRewritten = before.of("file", table).exists(file => rewritten(file.id))
    def visible(what: String, entry: Fact) =
      Option.when(!isGeneric)(hazard(what, Seq(entry), Set(table)).copy(table = Some(name)))
    old.flatMap { column =>
      val named = current.find(_.name == column.name)
      current.find(one => one.id == column.id && one.name == column.name) match {
        case Some(one) if !CatalogChanges.widens(column, one) =>
          visible(s"another type of ${column.name}", one).map(_.copy(isOfType = true))
        case Some(one) =>
          Option.when(one.mark != column.mark && isRewritten)(
            hazard(
              s"the values of $name.${column.name} were written again (ALTER TABLE … TYPE … USING)",
              Seq(one),
              Set(table)))
        case None if named.isEmpty =>
          current.find(_.id == column.id) match {
            case Some(one) =>
              visible(s"without ${column.name}, which is now ${one.name}", one)
                .map(_.copy(isLasting = true, isOfType = true))
            case None => visible(s"without ${column.name}", column).map(_.copy(tables = Set.empty))
          }
        case None =>
          val change = s"$name.${column.name} was dropped and added again, or got its name from another column"
          Some(hazard(change, named.toSeq, Set(table)).copy(isOfType = named.exists(_.value != column.value)))
      }
    }
  }

  private def files(table: Long): Seq[CatalogChange] = {
    val (old, current) = (before.of("file", table), now.of("file", table))
    // A table may have thousands of partitions.
    val (oldFiles, currentFiles) = (old.map(_.id).toSet, current.map(file => file.id -> file).toMap)
    val root = table.toString
    // ALTER TABLE has then written the rows again.
    val hasColumns = now.columns(table).map(_.id).diff(before.columns(table).map(_.id)).nonEmpty
    val isRetyped = columnsOf(table).exists(_.tables.nonEmpty)
    val lostFiles = old.filterNot(file => currentFiles.contains(file.id))
    val newFiles =
      current.filterNot(file => file.isCreated || file.isEmpty || file.id == root || oldFiles(file.id))
    val commonFiles = for (one <- old; other <- currentFiles.get(one.id) if one.id != root) yield one -> other
    val moves = commonFiles.filter { case (one, other) => one.mark != other.mark }
    val truncatedFiles = commonFiles.filter { case (one, other) =>
      rewritten(other.id) && !one.isEmpty && (follows || !hasColumns) && !isRetyped && one.mark == other.mark
    }
    val removals =
      lostFiles.map(file => hazard(s"the partition ${file.name} was detached or dropped", Seq(file), Set(table))) ++
        truncatedFiles.map { case (_, file) =>
          hazard(s"the rows of the partition ${file.name} were removed (TRUNCATE)", Seq(file), Set(table))
        }
    (if (ignoresRemoval) Nil else removals) ++
      newFiles.map(file =>
        hazard(s"the partition ${file.name} was attached, and may have rows from before", Seq(file), Set(table))) ++
      moves.map { case (_, file) =>
        hazard(s"the partition ${file.name} was detached and attached again", Seq(file), Set(table))
      }
  }

  private def types: Seq[CatalogChange] = {
    // The types of users have higher OIDs than those of the server.
    lazy val tables = before.all.filter(_.isOfUser).map(_.subject).toSet
    def stays(kind: String) = before.subjects(kind).filter(now.subjects(kind).contains)
    val labels = for {
      subject <- stays("label")
      one <- before.of("label", subject)
      other <- now.of("label", subject).find(_.id == one.id)
      if one.value != other.value || one.mark != other.mark && !isMoved(other)
    } yield hazard(s"the label ${one.value} of ${one.name} was renamed: it is ${other.value}", Seq(other), tables)
    val composites = for {
      subject <- stays("attribute")
      current = now.of("attribute", subject)
      if before.of("attribute", subject).map(_.copy(name = "")) != current.map(_.copy(name = ""))
    } yield hazard(s"the composite type ${current.head.name} was altered", current, tables).copy(isOfType = true)
    labels ++ composites
  }

  /** Whether the label got another place in the order of all when a new one was added: the server then has no number between two. */
  private def isMoved(label: Fact): Boolean = {
    val old = before.of("order", label.subject)
    old.exists(_.id == label.id) && !old.exists(now.of("order", label.subject).filter(_.id == label.id).contains) &&
    now.of("label", label.subject).exists(one => one.mark == label.mark && !old.exists(_.id == one.id))
  }
}

private[cdc] object CatalogChanges {

  private def widens(before: Fact, now: Fact): Boolean = before.value == now.value || {
    def column(fact: Fact) = {
      val Array(oid, modifier) = fact.value.split(':')
      RelationColumn(fact.name, isKey = false, Integer.parseUnsignedInt(oid), modifier.toInt)
    }
    column(now).widens(column(before))
  }
}
