package io.epochal.cdc.reload

import java.lang.Long.{compareUnsigned, parseUnsignedLong}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Locale

import scala.util.Using

import io.epochal.cdc.change.FrameReader.StoredChange
import io.epochal.cdc.change.{ChangeState, Chunk, CommittedTransaction, RowChange, ServerSnapshot}
import io.epochal.cdc.pgoutput.Bytes
import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.journal.FileStore

/** The files of reloads, in a directory of the checkpoint:
  *
  *   - `<LSN>-<OID>.request` for a table that is to be reloaded. It is removed after the journal has the table's rows.
  *   - `<LSN>-<OID>.refused` for one that has failed: the server may send it again.
  *   - `<OID>.left` for a table that a run has left out.
  *   - `<OID>-<time>.verified` for one that was verified, in milliseconds since 1970.
  *   - `<token>.rows` and `<token>.changes`, a [[Spool]] each: the table's rows, then the changes that the stream has had of it since.
  *   - `<token>.<LSN>.ready` once both are finished, with the server's snapshot in which the rows were read, and the chunk that
  *     they are. From then on they are what the transaction of the mark, at this position, delivers, however often the server
  *     sends it.
  */
final private[cdc] class ReloadFiles(store: FileStore) {
  import ReloadFiles._

  @volatile private var pending = read()
  private var storedChunks = Map.empty[ReloadRequest, Chunk]

  /** The pending requests, in the order of the log. */
  def requests: Seq[ReloadRequest] = pending

  private def read() =
    store.names().sorted.filter(_.endsWith(Request)).flatMap(name => ReloadRequest.read(name.stripSuffix(Request)))

  /** Makes a request durable. The server may send it again.
    *
    * @param again
    *   although it has failed
    */
  def request(request: ReloadRequest, again: Boolean = false): Unit = synchronized {
    if (!store.exists(request.name + Request) && (again || !store.exists(request.name + Refused)))
      write(request.name + Request, "")
    pending = read()
    Failpoints.reach(Failpoint.ReloadRequested)
  }

  /** Requests the rows of a table as they are now, unless a request of this purpose is pending that will read them.
    *
    * @param isResent
    *   whether the server may have sent the reason before: then a copy for the same request has these rows
    */
  def require(request: ReloadRequest, isResent: Boolean = false): Unit = synchronized {
    val copies = store.names().filter(Ready.matches(_))
    def isCopied(one: ReloadRequest) = copies.exists(_.startsWith(s"${one.name}-"))
    // The journal has no part of such a copy: the log was not read since the request.
    if (pending.contains(request) && isCopied(request) && request.lsn != 0) {
      if (!isResent) removeCopies(request)
    } else if (!pending.exists(one => one.table == request.table && one.purpose == request.purpose && !isCopied(one)))
      this.request(request, again = true)
  }

  /** Forgets a request that has failed. */
  def refuse(request: ReloadRequest): Unit = {
    if (!store.exists(request.name + Refused)) write(request.name + Refused, "")
    forget(request)
  }

  /** The OIDs of tables that a run has left out, whose later changes are missing. */
  def leftTables: Set[Long] =
    store.names().filter(_.endsWith(Left)).flatMap(_.stripSuffix(Left).toLongOption).toSet

  def leave(table: Long): Unit = write(s"$table$Left", "")

  def forget(request: ReloadRequest): Unit = synchronized {
    store.delete(request.name + Request)
    pending = read()
  }

  /** When each table was verified last, in milliseconds since 1970. */
  def verifiedTables: Map[Long, Long] = store
    .names()
    .collect { case Verified(table, time) => table.toLong -> time.toLong }
    .groupMapReduce(_._1)(_._2)(math.max)

  /** Notes that a table was verified. */
  def noteVerified(table: Long, time: Long): Unit = {
    val name = s"$table-$time.verified"
    val earlier = store.names().filter(one => one.startsWith(s"$table-") && Verified.matches(one))
    if (!earlier.contains(name)) write(name, "")
    store.deleteAll(earlier.filter(_ != name)): Unit
  }

  def spool(token: String, kind: String): Spool = new Spool(store.createUnique(s"$token.$kind"))

  /** Reads the rows, then the changes that were not visible when they were read. */
  def read(copy: CompleteReload)(use: Iterator[StoredChange] => Unit): Unit = {
    var table = Option.empty[Relation]
    def ofPurpose(change: StoredChange) =
      if (!copy.request.purpose.compares) change
      else {
        table = Some(change.relation)
        change.copy(kind = change.kind.verifying)
      }
    def mark(kind: RowChange, row: Relation => Bytes): Unit =
      table.foreach(one => use(Iterator(StoredChange(kind, one, row(one)))))
    def bound(kind: RowChange, key: Chunk => Option[Seq[String]]): Unit =
      for (chunk <- copy.chunk; texts <- key(chunk)) mark(kind, chunk.bound(_, texts))
    // After a TRUNCATE neither the rows are delivered nor the changes before it. The log itself has it.
    val truncate =
      if (copy.chunk.nonEmpty || copy.request.purpose == ReloadPurpose.Load) lastTruncate(copy)(use(Iterator.empty))
      else 0L
    var ordinal = 0L
    changes(copy, Rows) { rows =>
      val isFirst = table.isEmpty
      use((if (truncate == 0) rows else rows.filter(_.kind == RowChange.Truncate)).map(ofPurpose))
      if (isFirst) bound(RowChange.LowerBound, _.after)
    }
    changes(copy, Changes) { of =>
      val later = of.filter { _ => ordinal += 1; ordinal > truncate }
      use(copy.chunk.fold(later)(chunk => later.flatMap(chunk.clip(_).toOption.flatten)).map(ofPurpose))
    }
    bound(RowChange.UpperBound, _.until)
    val end = if (copy.request.purpose == ReloadPurpose.Repair) RowChange.Repaired else RowChange.Verified
    mark(end, _ => Bytes(Array.emptyByteArray, 0, 0))
  }

  /** The number of the last change that empties the table; 0: none does. */
  private def lastTruncate(copy: CompleteReload)(report: => Unit): Long = {
    var (all, last) = (0L, 0L)
    changes(copy, Changes) { of =>
      of.foreach { change =>
        all += 1
        if (change.kind == RowChange.Truncate) last = all
      }
      report
    }
    last
  }

  /** Whether the changes of a chunk have all values. */
  def hasAllValues(copy: CompleteReload): Boolean = copy.chunk.forall { chunk =>
    var isComplete = true
    // Those before a TRUNCATE are not delivered.
    changes(copy, Changes)(_.foreach { change =>
      isComplete = change.kind == RowChange.Truncate || isComplete && chunk.clip(change).isRight
    })
    isComplete
  }

  /** Reads a file of a copy, without the transactions that its rows show. */
  private def changes(copy: CompleteReload, kind: String)(use: Iterator[StoredChange] => Unit): Unit =
    Spool.read(store, s"${copy.token}.$kind") { frame =>
      // The rows of the table have no transaction.
      def isContained(of: CommittedTransaction) = of.xid != 0 && copy.snapshot.contains(of.lsn, of.xid)
      frame.parts.filterNot(part => isContained(part.stored.transaction)).foreach(part => use(frame.changes(part)))
    }

  /** Notes that both files of a copy are finished. */
  def finish(copy: CompleteReload): Unit = write(
    "%s.%016x.ready".formatLocal(Locale.ROOT, copy.token, copy.lsn),
    "%016x %s%s\n".formatLocal(
      Locale.ROOT,
      copy.snapshot.lsn,
      copy.snapshot.text,
      copy.chunk.fold("")(chunk => s" ${chunk.toJson}"))
  )

  private def write(name: String, text: String): Unit = Using.resource(store.create(name)) { file =>
    val bytes = text.getBytes(UTF_8)
    file.write(bytes, 0, bytes.length)
    file.sync()
  }

  /** The last chunk of a request that the journal has, as `clean` has found it. */
  def storedChunk(request: ReloadRequest): Option[Chunk] = storedChunks.get(request)

  /** Removes the files of all copies except a complete one that the journal lacks or has only in part, and returns that one. Fulfils
    * requests whose rows the journal has.
    */
  def clean(state: ChangeState)(fulfil: ReloadRequest => Unit): Option[CompleteReload] = {
    val (journalCopies, otherCopies) = store
      .names()
      .collect { case name @ Ready(token, lsn) =>
        // A run that was killed leaves a part of a text.
        new String(store.content(name), UTF_8) match {
          case Content(at, text, chunk) =>
            ReloadRequest.read(token).map { request =>
              val snapshot = ServerSnapshot(text, parseUnsignedLong(at, 16))
              CompleteReload(request, token, parseUnsignedLong(lsn, 16), snapshot, Option(chunk).map(Chunk.read))
            }
          case _ => None
        }
      }
      .flatten
      .partition(copy => state.contains(copy.lsn))
    journalCopies.filter(_.isLast).foreach(copy => (coveredLoads(copy) :+ copy.request).foreach(fulfil))
    val lastChunks = journalCopies
      .filter(copy => pending.contains(copy.request))
      .groupMapReduce(_.request)(identity)((one, other) => if (compareUnsigned(one.lsn, other.lsn) > 0) one else other)
    storedChunks = lastChunks.flatMap { case (request, copy) => copy.chunk.map(request -> _) }
    val names = store.names()
    // What was copied before the first change was stored may be older than the catalog as it was accepted.
    val complete = otherCopies
      .filter(copy => state.last.nonEmpty && Seq(Rows, Changes).forall(kind => names.contains(s"${copy.token}.$kind")))
      .sortBy(copy => !state.last.exists(_.transaction.lsn == copy.lsn))
      .headOption
    def isRefused(name: String) =
      name.endsWith(Refused) && ReloadRequest.read(name.stripSuffix(Refused)).exists { request =>
        state.last.forall(last => compareUnsigned(last.transaction.lsn, request.lsn) <= 0)
      }
    remove(names.filterNot { name =>
      name.endsWith(Request) || name.endsWith(Left) || Verified.matches(name) || isRefused(name) ||
      lastChunks.values.exists(copy => name.startsWith(copy.token) && Ready.matches(name)) ||
      complete.exists(copy => name.startsWith(copy.token))
    })
    complete
  }

  /** The pending loads in chunks of a table that a copy has as a whole. */
  def coveredLoads(by: CompleteReload): Seq[ReloadRequest] = pending.filter { request =>
    request.table == by.request.table && request.purpose == ReloadPurpose.Load && request != by.request &&
    by.chunk.isEmpty && !by.request.purpose.compares
  }

  /** Removes the files of a chunk and of earlier ones, except the one that says where the next chunk begins. */
  def keepLastReady(copy: CompleteReload): Unit =
    remove(store.names().filter { name =>
      name.startsWith(s"${copy.request.name}-") && !(name.startsWith(copy.token) && Ready.matches(name))
    })

  /** Removes the files of all copies for a request. */
  def removeCopies(request: ReloadRequest): Unit = remove(store.names().filter(_.startsWith(s"${request.name}-")))

  /** Removes the files of a copy. */
  def remove(token: String): Unit = remove(store.names().filter(_.startsWith(s"$token.")))

  /** The files that say that others are complete go first. */
  private def remove(names: Seq[String]): Unit = {
    val (ready, others) = names.partition(Ready.matches(_))
    ready.foreach(store.delete)
    store.deleteAll(others): Unit
  }
}

private object ReloadFiles {
  val Rows = "rows"
  val Changes = "changes"

  private val Request = ".request"
  private val Refused = ".refused"
  private val Left = ".left"
  private val Verified = "(\\d+)-(\\d+)[.]verified".r
  private val Ready = "(.*)[.]([0-9a-f]{16})[.]ready".r
  private val Content = "([0-9a-f]{16}) ([0-9:,]+)(?: ([{].*[}]))?\n".r
}
