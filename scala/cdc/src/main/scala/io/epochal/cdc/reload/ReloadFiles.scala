package io.epochal.cdc.reload

import java.lang.Long.{compareUnsigned, parseUnsignedLong}
import java.nio.charset.StandardCharsets.US_ASCII
import java.util.Locale

import scala.util.Using

import io.epochal.cdc.change.FrameReader.StoredChange
import io.epochal.cdc.change.{ChangeState, CommittedTransaction, RowChange, ServerSnapshot}
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
  *   - `<token>.<LSN>.ready` once both are finished, with the server's snapshot in which the rows were read. From then on they are
  *     what the transaction of the mark, at this position, delivers, however often the server sends it.
  */
final private[cdc] class ReloadFiles(store: FileStore) {
  import ReloadFiles._

  @volatile private var pending = read()

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

  /** Requests the rows of a table as they are now, unless a request of this purpose is pending that will read them. */
  def require(request: ReloadRequest): Unit = synchronized {
    val copies = store.names().filter(Ready.matches(_))
    def isCopied(one: ReloadRequest) = copies.exists(_.startsWith(s"${one.name}-"))
    // The journal has no part of such a copy: the log was not read since the request.
    if (pending.contains(request) && isCopied(request) && request.lsn != 0)
      remove(store.names().filter(_.startsWith(s"${request.name}-")))
    else if (!pending.exists(one => one.table == request.table && one.purpose == request.purpose && !isCopied(one)))
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
      if (copy.request.purpose.delivers) change
      else {
        table = Some(change.relation)
        change.copy(kind = change.kind.verifying)
      }
    for (kind <- Seq(Rows, Changes))
      Spool.read(store, s"${copy.token}.$kind") { frame =>
        // The rows of the table have no transaction.
        def isContained(of: CommittedTransaction) = of.xid != 0 && copy.snapshot.contains(of.lsn, of.xid)
        frame.parts
          .filterNot(part => isContained(part.stored.transaction))
          .foreach(part => use(frame.changes(part).map(ofPurpose)))
      }
    table.foreach(one => use(Iterator(StoredChange(RowChange.Verified, one, Bytes(Array.emptyByteArray, 0, 0)))))
  }

  /** Notes that both files of a copy are finished. */
  def finish(copy: CompleteReload): Unit = write(
    "%s.%016x.ready".formatLocal(Locale.ROOT, copy.token, copy.lsn),
    "%016x %s\n".formatLocal(Locale.ROOT, copy.snapshot.lsn, copy.snapshot.text))

  private def write(name: String, text: String): Unit = Using.resource(store.create(name)) { file =>
    file.write(text.getBytes(US_ASCII), 0, text.length)
    file.sync()
  }

  /** Removes the files of all copies except a complete one that the journal lacks or has only in part, and returns that one. */
  def clean(state: ChangeState): Option[CompleteReload] = {
    val names = store.names()
    def isLast(lsn: Long) = state.last.exists(_.transaction.lsn == lsn)
    val complete = names
      .collect { case name @ Ready(token, lsn) =>
        (token, parseUnsignedLong(lsn, 16), new String(store.content(name), US_ASCII))
      }
      .sortBy(copy => !isLast(copy._2))
      .collectFirst {
        // A run that was killed leaves a part of a text, or has removed other files.
        case (token, lsn, Content(at, text))
            if !state.contains(lsn) && Seq(Rows, Changes).forall(kind => names.contains(s"$token.$kind")) =>
          ReloadRequest.read(token).map(CompleteReload(_, token, lsn, ServerSnapshot(text, parseUnsignedLong(at, 16))))
      }
      .flatten
    def isRefused(name: String) =
      name.endsWith(Refused) && ReloadRequest.read(name.stripSuffix(Refused)).exists { request =>
        state.last.forall(last => compareUnsigned(last.transaction.lsn, request.lsn) <= 0)
      }
    remove(names.filterNot { name =>
      name.endsWith(Request) || name.endsWith(Left) || Verified.matches(name) || isRefused(name) || complete.exists(
        copy => name.startsWith(copy.token))
    })
    complete
  }

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
  private val Content = "([0-9a-f]{16}) ([0-9:,]+)\n".r
}
