package io.epochal.cdc

import java.nio.charset.StandardCharsets.US_ASCII
import java.sql.{Connection, SQLException}
import java.util.UUID

import scala.util.{Try, Using}

import org.slf4j.LoggerFactory

import io.epochal.cdc.change.{ChangeState, OnSchemaChange, OnTruncate}
import io.epochal.cdc.slot._
import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.hash.Sha256
import io.epochal.core.journal.{FileStore, JournalDamage}
import io.epochal.kit.database.Sql

/** Detects changes that the log does not show: compares the server's catalog with the state that the checkpoint has accepted. The
  * newest file has that state; older files are removed once a newer one is durable. One thread at a time.
  *
  * @param reloads
  *   as in [[CapturePlan]]
  */
final private[cdc] class CatalogWatch(
    options: CdcOptions,
    tables: CdcTables,
    store: FileStore,
    reloads: Boolean = true) {
  import CatalogWatch._

  @volatile private var acceptedFacts = Option.empty[CatalogFacts]

  /** Whether the query can reload a table; else it is loaded again. */
  @volatile private var mayReload = reloads

  /** Whether the query reloads tables by itself. */
  def follows: Boolean = mayReload && options.onSchemaChange == OnSchemaChange.Follow

  /** Content of the newest file, and when it was written. */
  private var newestFile = (Option.empty[CatalogFacts], 0L)

  /** At the end of the names of files that this source has written. */
  private val own = s"-${Sha256.hex(options.source, 8)}$End"

  /** Accepts the catalog as it is at a query's first start, unless an earlier, failed attempt of the same source has done so. */
  def begin(connection: Connection, publication: String, of: Iterable[Long]): Unit =
    if (!newest.exists(_._1.endsWith(own))) accept(facts(connection, publication, of))

  /** Restores the state that the checkpoint has accepted. If there is none, or no row was read since, accepts the catalog as it is. */
  def open(connection: Connection, origin: CdcOrigin, state: ChangeState, of: Iterable[Long]): Unit = {
    mayReload = reloads && ServerFacts.hasSignals(connection)
    acceptedFacts = newest.map(_._2)
    newestFile = (acceptedFacts, System.nanoTime())
    if (acceptedFacts.isEmpty && origin.isWatched)
      throw new JournalDamage(store.toString, "the state of the catalog is missing")
    if (acceptedFacts.isEmpty || (origin.snapshot || origin.inChunks) && state.last.isEmpty && state.runs.isEmpty) {
      val now = facts(connection, origin.publication, of)
      accept(now.copy(all = now.all ++ (if (acceptedFacts.isEmpty) lostColumns(state, now) else Nil)))
    }
  }

  /** Columns of delivered rows that the table no longer has. */
  private def lostColumns(state: ChangeState, now: CatalogFacts): Seq[Fact] = for {
    relation <- state.definitions.values.toSeq
    table = Integer.toUnsignedLong(relation.oid)
    column <- relation.columns if !now.columns(table).exists(_.name == column.name)
    kind = s"${Integer.toUnsignedString(column.typeOid)}:${column.modifier}"
  } yield Fact("column", table, column.name, column.name, kind, "")

  /** Whether the query reads a column of a table. */
  def reads(table: Long, column: String): Boolean =
    if (tables.chosen.nonEmpty) tables.isChosen(table, column)
    else acceptedFacts.exists(_.of("column", table).exists(_.name == column))

  /** The columns of a table that the query has read, or that it has not. */
  def knownColumns(table: Long, isRead: Boolean): Seq[String] =
    acceptedFacts.toSeq.flatMap(_.of(if (isRead) "column" else "unread", table)).map(_.name)

  /** The columns of a table all of whose values are in the log since they were added. */
  def loggedColumns(connection: Connection, origin: CdcOrigin, table: Long): Set[String] =
    facts(connection, origin.publication, Seq(table)).of("logged", table).map(_.name).toSet

  /** None if a DDL statement cannot have changed what the log shows. Else the catalog must be compared; then the error for a table
    * that became unlogged, if any, holds.
    *
    * @param statement
    *   the content of a message of [[io.epochal.cdc.slot.DdlTrigger]]: its tag, then OIDs
    */
  def ddlRefusal(origin: CdcOrigin, statement: String): Option[Option[EpochalException]] = {
    val (words, oids) = statement.split(' ').toSeq.partition(word => !word.headOption.exists(_.isDigit))
    val objects = oids.flatMap(_.split(',')).toSet
    val files = acceptedFacts.toSeq.flatMap(_.all.filter(_.kind == "file"))
    val table = files.find(file => objects(file.id) || objects(file.subject.toString))
    Option.when(table.nonEmpty || words.exists(word => word == "PUBLICATION" || word == "TYPE")) {
      val logChange = table.filter(_ => words.contains(DdlTrigger.Persistence)).map { file =>
        val text = s"${file.name} was unlogged"
        CatalogChange(text, None, Sha256.hex(s"$text $statement", 4), Set(file.subject))
      }
      refusal(origin, logChange.toSeq)
    }
  }

  /** The end of the log, and the error, if a change of the catalog may have hidden or changed rows. Else the catalog is accepted as it
    * is.
    *
    * @param truncations
    *   tables whose TRUNCATE the log has shown
    * @param isStart
    *   whether no change is read before: a query that follows changes has to know them
    * @param planRefusal
    *   the error for a query that was planned with other columns, if it follows changes
    * @param follow
    *   requests the rows of a table after a change, at a position of the log
    */
  def look(
      connection: Connection,
      origin: CdcOrigin,
      of: Iterable[Long],
      truncations: Set[Long],
      isStart: Boolean = false)(planRefusal: => Option[EpochalException])(
      follow: (CatalogChange, Long) => Unit): Option[(Long, EpochalException)] =
    acceptedFacts.flatMap { before =>
      try {
        Sql.run(connection, s"SET lock_timeout TO $LockMillis")
        val now = facts(connection, origin.publication, of)
        val end = ServerFacts.end(connection)
        val rewritten = now
          .replaced(before)
          .filterNot(file =>
            truncations.contains(file.subject) || CatalogFacts.hasOldRow(connection, file, before.since))
          .map(_.id)
        val ignoresRemoval = options.onTruncate == OnTruncate.Ignore
        val changes =
          new CatalogChanges(
            before,
            now,
            tables.isChosen,
            tables.isGeneric,
            ignoresRemoval,
            follows,
            rewritten.toSet).all
        val toRefuse = changes.filter(change => !follows || change.endsLog || change.isLasting)
        // After the facts: what they show is accepted only by a query that reads the tables so.
        planRefusal.map(end -> _).orElse(refusal(origin, toRefuse).map(place(toRefuse, end) -> _)).orElse {
          if (follows) changes.filter(_.tables.nonEmpty).foreach { change =>
            log.warn(s"${options.source}: reloads, since the log does not show it: ${change.text}")
            follow(change, end)
          }
          accept(now)
          None
        }
      } catch {
        // ALTER TABLE or VACUUM FULL holds a lock: the next call compares.
        case error: SQLException if error.getSQLState == LockNotAvailable =>
          if (isStart && follows)
            throw new SQLException("another session holds a lock on a captured table", ConnectionFailure)
          None
      } finally Try(Sql.run(connection, "SET lock_timeout TO 0")): Unit
    }

  /** A renamed column is refused before the target gets a column of the new name. */
  private def place(changes: Seq[CatalogChange], end: Long) =
    if (follows && changes.exists(_.table.nonEmpty)) 0L else end

  private def refusal(origin: CdcOrigin, changes: Seq[CatalogChange]): Option[EpochalException] = {
    lazy val token = Sha256.hex(changes.map(_.token).sorted.mkString(" "), 4)
    lazy val texts = changes.map(_.text).mkString("; ")
    changes.find(_.table.nonEmpty) match {
      case Some(change) if !follows =>
        Some(Conditions.TableChanged("table" -> change.table.mkString, "change" -> change.text))
      case _ if changes.isEmpty => None
      case _ if options.acceptChange.contains(token) =>
        log.warn(s"${options.source}: accepted the change $token: $texts")
        None
      case _ =>
        val toReload = if (tables.isSeveral) Signal.allOf(origin.slot) else tables.only.facts.name
        val renaming = changes.find(_.table.nonEmpty)
        val condition =
          if (renaming.nonEmpty)
            Conditions.CaptureChanged.withHint(
              s"Rename the column of the replica, too, unless it is to keep its values beside a new one. Then start the query again with {option:acceptChange=$token}: it reloads the table.")
          else if (!mayReload || changes.exists(_.endsLog))
            Conditions.CaptureChanged.withHint(
              s"${ResumeCheck.loadAgain(origin)} Or, if the rows in the target are right, start the query again with {option:acceptChange=$token}.")
          else Conditions.CaptureChanged
        Some(condition("change" -> texts, "table" -> toReload, "token" -> token))
    }
  }

  private def facts(connection: Connection, publication: String, of: Iterable[Long]): CatalogFacts = {
    val current = CatalogFacts.of(connection, of.toSeq.sorted, publication, tables.chosen, acceptedFacts)
    current.copy(all =
      current.all.map(fact => if (fact.kind == "column" && !isRead(fact)) fact.copy(kind = "unread") else fact))
  }

  /** A column that is younger than the query is not read. */
  private def isRead(column: Fact): Boolean = tables.isGeneric ||
    (if (tables.chosen.nonEmpty) tables.isChosen(column.subject, column.name)
     else
       tables.byOid(column.subject).exists(_.columns.exists(_.name == column.name)) ||
       acceptedFacts.exists(_.of("column", column.subject).exists(_.id == column.id)))

  private def accept(facts: CatalogFacts): Unit = {
    acceptedFacts = Some(facts)
    if (!newestFile._1.exists(_.all == facts.all) || System.nanoTime() - newestFile._2 > RewriteNanos) {
      val older = store.names()
      val number = older.flatMap(numberOf(_)).maxOption.fold(0L)(_ + 1)
      val content = facts.toBytes
      Using.resource(store.create(s"$number-${UUID.randomUUID}$own")) { file =>
        val head = s"${Sha256.hex(content, 32)}\n".getBytes(US_ASCII)
        file.write(head, 0, head.length)
        file.write(content, 0, content.length)
        file.sync()
      }
      newestFile = (acceptedFacts, System.nanoTime())
      older.foreach(old => Try(store.delete(old)))
    }
  }

  private def numberOf(name: String): Option[Long] =
    Option.when(name.endsWith(End))(name.takeWhile(_ != '-')).flatMap(_.toLongOption)

  /** Name and content of the newest complete file: a run that was killed may leave an incomplete one, and the one before it. */
  private def newest: Option[(String, CatalogFacts)] = {
    val files = store.names().flatMap(name => numberOf(name).map(_ -> name)).sortBy(-_._1).map(_._2)
    val whole = files.iterator
      .flatMap { name =>
        val bytes = store.content(name)
        val content = bytes.drop(HeadBytes)
        Option.when(new String(bytes.take(HeadBytes), US_ASCII) == s"${Sha256.hex(content, 32)}\n")(name -> content)
      }
      .nextOption()
    if (files.nonEmpty && whole.isEmpty) throw new JournalDamage(files.head, "its content does not match its hash")
    whole.map { case (name, content) => name -> CatalogFacts.read(content) }
  }
}

private object CatalogWatch {
  private val log = LoggerFactory.getLogger(classOf[CatalogWatch])

  private val End = ".facts"

  /** A hash in hexadecimal digits, and the end of its line. */
  private val HeadBytes = 65

  /** Age from which on the file is written again only because `since` has advanced. */
  private val RewriteNanos = 600L * 1000000000L
  private val LockMillis = 1000
  private val LockNotAvailable = "55P03"

  /** A new attempt follows. */
  private val ConnectionFailure = "08000"
}
