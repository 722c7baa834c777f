package io.epochal.cdc.change

import java.lang.Long.compareUnsigned
import java.util
import java.util.zip.CRC32C

import scala.collection.mutable
import scala.util.control.NonFatal

import io.epochal.cdc.pgoutput.Message._
import io.epochal.cdc.pgoutput.{Bytes, Message, OldTuple}

/** The server's changes from one position on, in the order of their commits. */
private[cdc] trait ChangeStream extends AutoCloseable {

  /** The next message, valid until the next call; null if none has arrived. */
  def poll(): Bytes

  /** Reports that the server need not keep what comes before a position. */
  def confirm(lsn: Long): Unit
}

/** Where changes become durable. */
private[cdc] trait ChangeSink {

  /** Makes a frame durable.
    *
    * @param carry
    *   the state before it
    */
  def append(rows: Int, frame: Bytes, carry: => Array[Byte]): Unit

  /** Makes durable the marker of an empty transaction, the last one. */
  def witness(transaction: Transaction): Unit
}

/** Which changes are already contained in the snapshot. */
private[cdc] trait Contained {

  /** None: they show none of the transaction's changes. Else whether they show the change of a row, by its key. */
  def of(lsn: Long, xid: Int): Option[(Captured, Bytes) => Boolean]

  /** The position before which a transaction's changes may be shown in part; 0: there is none. */
  def preparedUntil: Long = 0L

  /** Finds out about many rows at once, for calls of `of` until the next one. */
  def prepare(rows: Seq[(Captured, Bytes)]): Unit = ()

  /** Whether they were read after a transaction had emptied their table. */
  def showsTruncate(table: Captured, lsn: Long, xid: Int): Boolean = false
}

private[cdc] object Contained {

  /** They show every change. */
  val Everything: (Captured, Bytes) => Boolean = (_, _) => true
}

/** A captured table.
  *
  * @param key
  *   places of its key among the columns
  * @param identity
  *   places of the columns that identify rows of changes
  */
final private[cdc] case class Captured(relation: Relation, key: Seq[Int], identity: Seq[Int])

private[cdc] object Captured {
  def apply(relation: Relation, primary: Seq[String]): Captured =
    Captured(relation, ChangeRules.key(relation, primary), ChangeRules.identity(relation, primary))
}

/** Reads the server's messages into frames, and confirms to the server what is durable. One thread.
  *
  * The confirmed position is where the commit record of the last durable transaction begins. So the server sends that transaction
  * first when it is asked again: if it sends another one, the slot was moved or the database was restored, and changes may be
  * missing.
  *
  * @param begun
  *   the state that earlier runs left
  * @param capture
  *   what to do with a table: Right if its changes are delivered, None if not, Left the end of the stream
  * @param contained
  *   which changes are already contained in the snapshot
  * @param truncated
  *   whether a TRUNCATE becomes a row; Left: the end of the stream
  * @param ddl
  *   what to do about a DDL statement that [[io.epochal.cdc.slot.DdlTrigger]] has put into the log
  */
final private[cdc] class ChangeIntake(
    begun: ChangeState,
    sink: ChangeSink,
    rules: ChangeRules,
    capture: (Relation, Option[Relation]) => Option[Captured],
    truncated: Relation => Boolean,
    contained: Contained,
    mismatch: (Written, Begin) => Throwable,
    frameBytes: Int = ChangeIntake.FrameBytes,
    ddl: String => Unit = _ => ()) {

  private val builder = new FrameBuilder

  /** Whether the journal has the state of all snapshots. The last one may have found no rows, and then no frame has it. */
  private var isNoted = begun.last.nonEmpty || begun.runs.isEmpty
  private var state = begun
  private var captured = Map.empty[Int, Captured]

  /** Tables that were defined in a transaction that the snapshot shows, and cannot be captured like that. */
  private var refused = Map.empty[Int, Throwable]
  private var current = Option.empty[Running]

  /** Messages that wait until the server was asked which of their changes the snapshot shows: one question for many. */
  private val held = mutable.ArrayBuffer.empty[Message]
  private var heldBytes = 0
  private var holds = contained.preparedUntil != 0

  /** The transaction that the server must send first; None once it has. */
  private var expected = begun.last

  /** The last transaction that began, and that one if it had no rows. */
  private var latest = begun.last.map(_.transaction)
  private var empty = Option.empty[Transaction]

  /** A transaction whose end has not arrived.
    *
    * @param skipped
    *   what the journal has of it
    * @param shown
    *   as in [[Contained]]
    */
  final private class Running(
      val transaction: Transaction,
      val skipped: Option[Written],
      val shown: Option[(Captured, Bytes) => Boolean]) {
    val crc = new CRC32C
    var ordinal = 0L
    var isOpen = false
    def skips: Boolean = skipped.exists(known => known.isComplete || ordinal < known.ordinal)
  }

  /** The durable state. */
  def reached: ChangeState = state

  /** Whether there is something to make durable. */
  def hasRows: Boolean = builder.rows > 0 || held.nonEmpty

  /** Takes a message, and makes a frame durable when it is large. */
  def take(bytes: Bytes): Option[Long] = {
    if (holds) hold(bytes) else accept(Message.read(bytes.array, bytes.offset, bytes.length))
    if (builder.size >= frameBytes && builder.rows > 0) flush() else None
  }

  private def hold(bytes: Bytes): Unit = {
    val copy = util.Arrays.copyOfRange(bytes.array, bytes.offset, bytes.offset + bytes.length)
    Message.read(copy, 0, copy.length) match {
      case begin: Begin if compareUnsigned(begin.commitLsn, contained.preparedUntil) >= 0 =>
        release()
        holds = false
        accept(begin)
      case relation: Relation =>
        release()
        accept(relation)
      case message =>
        held += message
        heldBytes += copy.length
        if (heldBytes >= frameBytes) release()
    }
  }

  private def release(): Unit = if (held.nonEmpty) {
    val messages = held.toVector
    held.clear()
    heldBytes = 0
    var shown = current.flatMap(_.shown)
    contained.prepare(messages.flatMap {
      case Begin(lsn, _, xid) =>
        shown = contained.of(lsn, xid)
        Nil
      case change: Change if shown.exists(_ ne Contained.Everything) =>
        captured.get(change.relation).toSeq.flatMap { table =>
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
      refused.get(change.relation).filterNot(_ => isShown).foreach(throw _)
      captured.get(change.relation).foreach(add(_, change))
    case Truncate(tables) =>
      tables.flatMap(captured.get).filterNot(showsTruncate).filter(table => truncated(table.relation)).foreach(clear)
    case relation: Relation                    => define(relation)
    case Emitted(_, _, Emitted.Ddl, statement) => if (!isShown) ddl(statement)
    case _: Emitted | Other                    => ()
  }

  /** Makes everything durable that was taken.
    *
    * @return
    *   the position to confirm, if it has moved
    */
  def flush(): Option[Long] = {
    // What comes before an error becomes durable.
    try release()
    finally write()
    state.last.map(_.transaction.lsn)
  }

  private def write(): Unit = {
    val open = current.filter(_.isOpen)
    val written = open.flatMap(running => builder.end(complete = false).map(running -> _))
    if (builder.rows > 0) {
      val carry = state
      val rows = builder.rows
      val frame = builder.result(if (isNoted) "" else SnapshotState.note(state.snapshots))
      isNoted = true
      val after = state.after(new FrameReader(frame.array, frame.length))
      sink.append(rows, frame, carry.toBytes)
      state = after
    }
    written.foreach { case (running, known) => builder.begin(running.transaction, known.ordinal, running.crc) }
  }

  /** Makes a transaction without rows durable as the last one, if there is one and nothing else. */
  def settle(): Option[Long] = empty.filter(isLast).map { last =>
    sink.witness(last)
    state = state.after(Some(last))
    empty = None
    last.lsn
  }

  private def isLast(transaction: Transaction): Boolean = !hasRows && current.isEmpty &&
    (isNoted || begun.runs.forall(run => compareUnsigned(transaction.lsn, run.lsn) >= 0))

  private def start(begin: Begin): Unit = {
    val repeated = expected
    expected = None
    repeated.filterNot(last => isSame(last.transaction, begin)).foreach(last => throw mismatch(last, begin))
    val transaction = repeated.map(_.transaction).getOrElse {
      latest.filter(last => compareUnsigned(begin.commitLsn, last.lsn) <= 0).foreach { last =>
        throw mismatch(Written(last, 0, 0, isComplete = true), begin)
      }
      val stamp = latest.map(_.stamp + 1).foldLeft(math.max(begin.committedAt, begun.snapshotStamp))(math.max)
      Transaction(begin.commitLsn, begin.xid, begin.committedAt, stamp)
    }
    latest = Some(transaction)
    current = Some(new Running(transaction, repeated, contained.of(begin.commitLsn, begin.xid)))
  }

  private def isSame(known: Transaction, begin: Begin): Boolean =
    known.lsn == begin.commitLsn && known.xid == begin.xid && known.committedAt == begin.committedAt

  private def finish(): Unit = {
    current.foreach { running =>
      if (running.isOpen) {
        builder.end(complete = true): Unit
        empty = None
      } else if (running.skipped.isEmpty) empty = Some(running.transaction)
    }
    current = None
  }

  private def add(table: Captured, change: Change): Unit = {
    def putAll(): Unit = put(table, rules.kind(table.identity, change), change.old, change.after)
    current.flatMap(_.shown).fold(putAll()) { shows =>
      val (before, after) = keys(table, change)
      (before.exists(shows(table, _)), after.exists(shows(table, _))) match {
        case (false, false) => putAll()
        case (true, false)  => put(table, Kind.Insert, None, change.after)
        case (false, true)  => put(table, Kind.Delete, change.old, None)
        case (true, true)   => ()
      }
    }
  }

  /** The tuples with the key before a change and after it: an update of the key moves the row between parts of the table that were
    * read at different times.
    */
  private def keys(table: Captured, change: Change): (Option[Bytes], Option[Bytes]) = {
    val old = change.old.map(_.bytes)
    if (rules.moves(table.key, change)) (old, change.after)
    else {
      // The new row may lack a large key.
      val either = old.orElse(change.after)
      (either, either)
    }
  }

  private def showsTruncate(table: Captured): Boolean = current.exists { running =>
    contained.showsTruncate(table, running.transaction.lsn, running.transaction.xid)
  }

  private def clear(table: Captured): Unit = put(table, Kind.Truncate, None, None)

  private def put(table: Captured, kind: Kind, old: Option[OldTuple], row: Option[Bytes]): Unit =
    current.foreach { running =>
      if (running.skips) skip(running, kind, old, row)
      else {
        if (!running.isOpen) {
          builder.begin(running.transaction, running.ordinal, running.crc)
          running.isOpen = true
        }
        builder.add(kind, table.relation, old, row)
        running.ordinal += kind.ordinals
      }
    }

  /** Compares a change with what the journal has: the server sends the same again. */
  private def skip(running: Running, kind: Kind, old: Option[OldTuple], row: Option[Bytes]): Unit = {
    (old.map(tuple => tuple.kind -> tuple.bytes) ++ row.map('N' -> _)).foreach { case (kind, bytes) =>
      running.crc.update(kind.toInt)
      running.crc.update(bytes.array, bytes.offset, bytes.length)
    }
    running.ordinal += kind.ordinals
    running.skipped.filter(_.ordinal == running.ordinal).foreach { known =>
      if (known.crc != running.crc.getValue.toInt)
        throw mismatch(known, Begin(running.transaction.lsn, running.transaction.committedAt, running.transaction.xid))
    }
  }

  private def define(relation: Relation): Unit = {
    refused -= relation.oid
    captured -= relation.oid
    try
      capture(relation, state.definitions.get(relation.oid).filterNot(_ => isBeforeSnapshot))
        .foreach(captured += relation.oid -> _)
    catch { case NonFatal(e) if isShown => refused += relation.oid -> e }
  }

  /** Whether the snapshot shows the whole transaction. */
  private def isShown: Boolean = current.exists(_.shown.contains(Contained.Everything))

  /** Whether the known definitions are those of the snapshot, and younger than the current transaction. */
  private def isBeforeSnapshot: Boolean = state.last.isEmpty && current.exists { running =>
    begun.runs.exists(run => compareUnsigned(running.transaction.lsn, run.lsn) < 0)
  }
}

private[cdc] object ChangeIntake {

  /** Bytes at which a frame is made durable although more is coming. */
  val FrameBytes: Int = 1 << 20
}
