package io.epochal.cdc.change

import java.lang.Long.compareUnsigned
import java.util.zip.CRC32C

import scala.collection.mutable
import scala.util.control.NonFatal
import scala.util.{Failure, Success, Try}

import io.epochal.cdc.pgoutput.Message._
import io.epochal.cdc.pgoutput.{Bytes, Lsn, Message, OldTuple}
import io.epochal.core.error.{Conditions, EpochalException}

/** Collects the server's messages in frames. The caller stores each frame before it reads on, and confirms to the server what is
  * stored. One thread.
  *
  * The confirmed position is where the commit record of the last stored transaction begins. So the server sends that transaction
  * first when it is asked again: if it sends another one, the slot was moved or the database was restored, and changes may be
  * missing.
  *
  * @param initial
  *   the state that earlier runs left
  * @param url
  *   of the server, for errors
  * @param recent
  *   the last transactions of the run
  */
final private[cdc] class ChangeIntake(
    initial: ChangeState,
    rules: ChangeRules,
    snapshot: SnapshotView,
    slot: String,
    url: String,
    frameBytes: Int = ChangeIntake.FrameBytes,
    recent: RecentTransactions = new RecentTransactions) {

  private val builder = new FrameBuilder

  /** Whether the journal has the state of all snapshots. The last one may have copied no rows, and then no frame has it. */
  private var isNoted = initial.last.nonEmpty || initial.runs.isEmpty
  private var state = initial
  private var tables = Map.empty[Int, CapturedTable]

  /** Why tables that were defined in a transaction that the snapshot contains cannot be captured with that definition. */
  private var problems = Map.empty[Int, Throwable]
  private var current = Option.empty[OpenTransaction]

  /** Keeps the changes of a table that is reloaded, from when it is set. */
  var recording = Option.empty[ChangeRecording]

  /** Tables whose changes after a position of the log are only kept for a reload. */
  var withheldTables = Map.empty[Int, Long]

  /** Tables that are being loaded in chunks, each with the last one that was delivered: the changes of later rows are only kept. */
  var loadingTables = Map.empty[Int, Option[Chunk]]

  /** Called with such a table if a change lacks the key, or moves a row to a delivered chunk without all its values. */
  var requestWholeLoad: Int => Unit = _ => ()

  /** Whether a table's first chunk is still to be delivered. */
  private def awaitsFirstChunk(table: Int) = loadingTables.get(table).exists(_.isEmpty)

  private def isWithheld(table: Int) = withheldTables.nonEmpty && withheldTables
    .get(table)
    .exists(since => current.exists(open => compareUnsigned(open.transaction.lsn, since) > 0))

  /** Messages that wait until one query has determined which of their changes the snapshot contains. */
  private val queue = mutable.ArrayBuffer.empty[Message]
  private var queuedBytes = 0
  private var isQueueing = snapshot.preparedUntil != 0

  /** The transaction that the server must send first; None once it has. */
  private var due = initial.last

  /** The last transaction that began; and the last one that ended, if it had no rows. */
  private var latest = initial.last.map(_.transaction)
  private var empty = Option.empty[CommittedTransaction]

  /** A transaction whose end has not arrived.
    *
    * @param part
    *   what the journal has of it
    * @param isContained
    *   as in [[SnapshotView]]
    */
  final private class OpenTransaction(
      val transaction: CommittedTransaction,
      val part: Option[StoredTransaction],
      val isContained: Option[(CapturedTable, Bytes) => Boolean]) {
    val crc = new CRC32C
    var ordinal = 0L
    var isInFrame = false
    def isStored: Boolean = part.exists(part => part.isComplete || ordinal < part.ordinal)
  }

  /** Whether a frame is due at some time. */
  def hasRows: Boolean = builder.rows > 0 || queue.nonEmpty

  /** Whether the journal may end within a transaction, or changes are to be stored. */
  def isWithin: Boolean = hasRows || current.nonEmpty || due.exists(!_.isComplete)

  /** The position of the last transaction that has begun. */
  def lastLsn: Long = latest.fold(0L)(_.lsn)

  /** The position of the transaction whose messages are read. */
  def lsn: Option[Long] = {
    release()
    current.map(_.transaction.lsn)
  }

  /** Whether no transaction has begun and not ended. */
  def isBetweenTransactions: Boolean = current.isEmpty && queue.isEmpty

  /** Reads a message that is not the definition of a table. Returns a frame when it is large. */
  def read(message: Message): Option[ChangeFrame] = {
    message match {
      case begin: Begin if isQueueing && compareUnsigned(begin.commitLsn, snapshot.preparedUntil) >= 0 =>
        release()
        isQueueing = false
        accept(begin)
      case _: Begin | _: Commit | _: Change if isQueueing =>
        queue += message.deepCopy
        queuedBytes += message.size
        if (queuedBytes >= frameBytes) release()
      case other =>
        release()
        accept(other)
    }
    largeFrame()
  }

  /** The frame of what was read, if it is large. */
  def largeFrame(): Option[ChangeFrame] =
    if (builder.size >= frameBytes && builder.rows > 0) flush() else None

  private def release(): Unit = if (queue.nonEmpty) {
    val messages = queue.toVector
    queue.clear()
    queuedBytes = 0
    var isContained = current.flatMap(_.isContained)
    snapshot.prepare(messages.flatMap {
      case Begin(lsn, _, xid) =>
        isContained = snapshot.of(lsn, xid)
        Nil
      case change: Change if isContained.exists(_ ne SnapshotView.Everything) =>
        tables.get(change.relation).toSeq.flatMap { table =>
          val (before, after) = keys(table, change)
          (before ++ after).toSeq.distinct.map(table -> _)
        }
      case _ => Nil
    })
    messages.foreach(accept)
  }

  private def accept(message: Message): Unit = message match {
    case begin: Begin => start(begin)
    case _: Commit    => finish()
    case change: Change =>
      problems.get(change.relation).filterNot(_ => isContained).foreach(throw _)
      tables.get(change.relation).foreach(add(_, change))
    case truncate: Truncate => truncations(truncate).foreach(put(_, RowChange.Truncate, None, None))
    case _                  => ()
  }

  /** The frame of everything that was read. */
  def flush(): Option[ChangeFrame] = {
    release()
    val part = current.filter(_.isInFrame).flatMap(open => builder.end(complete = false).map(open -> _))
    val frame = Option.when(builder.rows > 0) {
      val frame = builder.frame(state, if (isNoted) "" else SnapshotState.note(state.snapshots))
      isNoted = true
      state = frame.after
      frame
    }
    part.foreach { case (open, part) => builder.begin(open.transaction, part.ordinal, open.crc) }
    frame
  }

  /** The last transaction, if it had no rows and nothing else is to be stored. The caller stores it, since no frame has it. */
  def settle(): Option[CommittedTransaction] = empty.filter(isLast).map { last =>
    state = state.after(Some(last))
    empty = None
    last
  }

  private def isLast(transaction: CommittedTransaction): Boolean = !hasRows && current.isEmpty &&
    (isNoted || initial.runs.forall(run => compareUnsigned(transaction.lsn, run.lsn) >= 0))

  private def start(begin: Begin): Unit = {
    val part = due
    due = None
    part.map(_.transaction).filterNot(isSame(_, begin)).foreach(last => throw gap(last, begin))
    val transaction = part.map(_.transaction).getOrElse {
      latest.filter(last => compareUnsigned(begin.commitLsn, last.lsn) <= 0).foreach(last => throw gap(last, begin))
      val stamp = latest.map(_.stamp + 1).foldLeft(math.max(begin.committedAt, initial.snapshotStamp))(math.max)
      CommittedTransaction(begin.commitLsn, begin.xid, begin.committedAt, stamp)
    }
    latest = Some(transaction)
    recent.add(begin.xid)
    current = Some(new OpenTransaction(transaction, part, snapshot.of(begin.commitLsn, begin.xid)))
  }

  private def isSame(one: CommittedTransaction, begin: Begin): Boolean =
    one.lsn == begin.commitLsn && one.xid == begin.xid && one.committedAt == begin.committedAt

  /** The error for a server that does not send the transaction that must follow. */
  private def gap(due: CommittedTransaction, begin: Begin): EpochalException = Conditions.SlotMoved(
    "slot" -> slot,
    "url" -> url,
    "expected" -> s"${Integer.toUnsignedString(due.xid)} at ${Lsn.show(due.lsn)}",
    "found" -> s"${Integer.toUnsignedString(begin.xid)} at ${Lsn.show(begin.commitLsn)}")

  /** The error for a server that sends a transaction again without the rows that the journal has of it. */
  private def otherRows(open: OpenTransaction): EpochalException = {
    val CommittedTransaction(lsn, xid, at, _) = open.transaction
    gap(open.transaction, Begin(lsn, at, xid))
  }

  private def finish(): Unit = {
    current.foreach { open =>
      if (open.isInFrame) {
        builder.end(complete = true): Unit
        empty = None
      } else if (open.part.isEmpty) empty = Some(open.transaction)
      else if (open.part.exists(part => !part.isComplete && open.ordinal < part.ordinal)) throw otherRows(open)
    }
    current = None
  }

  private def add(table: CapturedTable, change: Change): Unit = {
    val kind = rules.rowChange(table.identity, change)
    def splitKeyChange(
        isExcluded: Bytes => Boolean)(use: (RowChange, Option[OldTuple], Option[Bytes]) => Unit): Unit = {
      val (before, after) = keys(table, change)
      (before.exists(isExcluded), after.exists(isExcluded)) match {
        case (false, false) => use(kind, change.old, change.after)
        case (true, false)  => use(RowChange.Insert, None, change.after)
        case (false, true)  => use(RowChange.Delete, change.old, None)
        case (true, true)   => ()
      }
    }
    val loading = if (loadingTables.isEmpty) None else loadingTables.get(table.relation.oid)
    loading match {
      case None =>
        current.flatMap(_.isContained) match {
          case None              => put(table, kind, change.old, change.after)
          case Some(isContained) => splitKeyChange(isContained(table, _))(put(table, _, _, _))
        }
      case Some(last) =>
        current.foreach(record(_, table, kind, change.old, change.after))
        def isLater(row: Bytes) = last.fold(Option(true))(_.isLater(table.relation, row))
        val (before, after) = keys(table, change)
        if (isWithheld(table.relation.oid)) ()
        else if ((before ++ after).exists(isLater(_).isEmpty)) requestWholeLoad(table.relation.oid)
        else
          splitKeyChange(isLater(_).contains(true)) { (kind, old, row) =>
            if (kind != RowChange.Insert || !row.exists(TupleValue.isPartial)) deliver(table, kind, old, row)
            // The whole old row has the values.
            else if (change.old.exists(_.whole)) deliver(table, RowChange.Update, change.old, row)
            else requestWholeLoad(table.relation.oid)
          }
    }
  }

  /** The tuples with the key before a change and after it: an update of the key moves the row between parts of the table that were
    * read at different times.
    */
  private def keys(table: CapturedTable, change: Change): (Option[Bytes], Option[Bytes]) = {
    val old = change.old.map(_.bytes)
    if (rules.moves(table.key, change)) (old, change.after)
    else {
      // The new row may lack a large key.
      val either = old.orElse(change.after)
      (either, either)
    }
  }

  /** The tables of a TRUNCATE for which a row is delivered. */
  def truncations(truncate: Truncate): Seq[CapturedTable] = {
    release()
    truncate.relations
      .flatMap(tables.get)
      .filterNot { table =>
        current.exists(open => snapshot.containsTruncate(table, open.transaction.lsn, open.transaction.xid))
      }
      .filter { table =>
        val oid = table.relation.oid
        isWithheld(oid) || awaitsFirstChunk(oid) || rules.deliversTruncate(table.relation)
      }
  }

  private def put(table: CapturedTable, change: RowChange, old: Option[OldTuple], row: Option[Bytes]): Unit =
    current.foreach { open =>
      record(open, table, change, old, row)
      deliver(table, change, old, row)
    }

  private def record(
      open: OpenTransaction,
      table: CapturedTable,
      change: RowChange,
      old: Option[OldTuple],
      row: Option[Bytes]): Unit =
    recording.filter(_.table == table.relation.oid).foreach(_.add(open.transaction, change, table.relation, old, row))

  private def deliver(table: CapturedTable, change: RowChange, old: Option[OldTuple], row: Option[Bytes]): Unit =
    current.foreach { open =>
      if (isWithheld(table.relation.oid) || change == RowChange.Truncate && awaitsFirstChunk(table.relation.oid)) ()
      else if (open.isStored) {
        (old.map(tuple => tuple.kind -> tuple.bytes) ++ row.map('N' -> _)).foreach { case (kind, bytes) =>
          open.crc.update(kind.toInt)
          open.crc.update(bytes.array, bytes.offset, bytes.length)
        }
        verify(open, change)
      } else {
        beginFrame(open)
        builder.add(change, table.relation, old, row)
        open.ordinal += change.ordinals
      }
    }

  private def beginFrame(open: OpenTransaction): Unit = if (!open.isInFrame) {
    builder.begin(open.transaction, open.ordinal, open.crc)
    open.isInFrame = true
  }

  /** Repeats changes that another frame has, as changes of the current transaction. */
  def repeat(changes: Iterator[FrameReader.StoredChange]): Unit = {
    release()
    for (open <- current; FrameReader.StoredChange(kind, relation, tuples) <- changes)
      if (open.isStored) {
        open.crc.update(tuples.array, tuples.offset, tuples.length)
        verify(open, kind)
      } else {
        beginFrame(open)
        builder.repeat(kind, relation, tuples)
        open.ordinal += kind.ordinals
      }
  }

  /** Compares a change with what the journal has: the server sends the same again. */
  private def verify(open: OpenTransaction, change: RowChange): Unit = {
    open.ordinal += change.ordinals
    if (open.part.exists(part => part.ordinal == open.ordinal && part.crc != open.crc.getValue.toInt))
      throw otherRows(open)
  }

  /** The definition that the last stored changes of a table had, to be compared with the next one; None: there is none, or it is the
    * snapshot's and younger than the current transaction.
    */
  def definition(oid: Int): Option[Relation] = {
    release()
    def isYounger = state.last.isEmpty && current.exists { open =>
      initial.runs.exists(run => compareUnsigned(open.transaction.lsn, run.lsn) < 0)
    }
    state.definitions.get(oid).filterNot(_ => isYounger)
  }

  /** Defines a table for the changes that follow. An error of a transaction that the snapshot contains counts only if changes follow that
    * it does not contain.
    *
    * @param table
    *   None: its changes are not delivered
    */
  def define(relation: Relation, table: Try[Option[CapturedTable]]): Option[ChangeFrame] = {
    release()
    problems -= relation.oid
    tables -= relation.oid
    table match {
      case Success(one)                            => tables ++= one.map(relation.oid -> _)
      case Failure(NonFatal(error)) if isContained => problems += relation.oid -> error
      case Failure(error)                          => throw error
    }
    largeFrame()
  }

  /** Whether the snapshot contains the whole current transaction. */
  def isContained: Boolean = {
    release()
    current.exists(_.isContained.contains(SnapshotView.Everything))
  }
}

private[cdc] object ChangeIntake {

  /** Bytes of a frame that is stored although more is coming. */
  val FrameBytes: Int = 1 << 20
}
