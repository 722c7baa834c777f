package io.epochal.cdc

import java.lang.Long.compareUnsigned
import java.sql.SQLException
import java.time.Duration
import java.util.concurrent.atomic.LongAdder

import scala.util.Using

import org.slf4j.LoggerFactory

import io.epochal.cdc.change._
import io.epochal.cdc.pgoutput.Bytes
import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.cdc.slot.{Lsn, ServerFacts, SlotFacts, SlotStream, StreamWatch}
import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.journal.JournalDamage
import io.epochal.core.journal.acknowledged.{AcknowledgedJournal, JournalFenced}
import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.database.Sql
import io.epochal.kit.source.journal.JournalFaults
import io.epochal.kit.store.HadoopFileStore

/** Copies the changes of a slot into a journal, in a thread of its own, from `start` to `close`.
  *
  * @param end
  *   the log position that somebody waits for
  */
final private[cdc] class Capture(
    options: CdcOptions,
    setup: CdcSetup,
    origin: CdcOrigin,
    val journal: AcknowledgedJournal,
    store: HadoopFileStore,
    faults: JournalFaults,
    end: Option[Long])
    extends AutoCloseable {
  import Capture._

  private val witnesses = WitnessFiles.in(store)
  @volatile private var state = restored()
  private val thread = new DaemonThreads("epochal-cdc").newThread(() => run())
  private val reconnects = new LongAdder

  @volatile private var closed = false
  @volatile private var failure = Option.empty[EpochalException]
  @volatile private var delivered = 0L

  /** The slot's last known state, and the time of the look at it. */
  @volatile private var seen = (Option.empty[SlotFacts], System.nanoTime())

  /** The last snapshot of this run: when it began, the rows from before, and all that are expected. */
  @volatile private var copying = Option.empty[(Long, Long, Long)]

  /** When the catalog was last compared, and whether the log has defined a table since. */
  private var lastComparison = System.nanoTime()
  @volatile private var hasNewDefinition = false

  /** Whether the server has sent nothing that waits to be read. */
  @volatile private var isIdle = false
  @volatile private var confirmed = state.last.fold(origin.start)(_.transaction.lsn)

  /** The error for a change of the tables or of the server's catalog that the log does not show, and a position in the log after it. */
  @volatile private var refusal = Option.empty[(Long, EpochalException)]

  /** Everything before it is durable; 0 before the snapshot is complete. */
  @volatile private var reached = 0L

  /** Whether the journal was full when it was last looked at: while it is, and after each frame. */
  private var full = true

  def start(): Unit = thread.start()

  /** The error that ended it. */
  def ended: Option[EpochalException] = failure

  /** Whether all changes before a log position are in the journal. */
  def hasReached(lsn: Long): Boolean = refusal.isEmpty && isBefore(lsn)

  private def isBefore(lsn: Long) = compareUnsigned(reached, lsn) >= 0

  def deliveredUntil(row: Long): Unit = delivered = math.max(delivered, row)

  def metrics: Map[String, String] = Map(
    "slot" -> origin.slot,
    "confirmed" -> Lsn.show(confirmed),
    "reconnects" -> reconnects.sum.toString,
    "journalBytes" -> journal.bytes.toString,
    "backlogBytes" -> journal.bytesFrom(delivered).toString
  ) ++ slotMetrics ++ (if (origin.snapshot) snapshotProgress.metrics else Map.empty)

  /** NaN: unknown. */
  private def slotMetrics: Map[String, String] = {
    val received = if (compareUnsigned(reached, confirmed) > 0) reached else confirmed
    val (found, at) = seen
    def bytes(of: SlotFacts => Option[Long]) = found.flatMap(of).fold("NaN")(_.toString)
    val lag = for {
      slot <- found
      last <- state.last
    } yield
      if (isIdle && compareUnsigned(received, slot.end) >= 0) 0.0
      else math.max(0.0, (slot.now - last.transaction.committedAt) / 1e6 + (System.nanoTime() - at) / 1e9)
    Map(
      "retainedWalBytes" -> bytes(slot => Some(slot.retained)),
      "safeWalBytes" -> bytes(_.safe),
      "slotLagBytes" -> bytes(slot => Some(math.max(0L, slot.end - received))),
      "slotLagSeconds" -> SnapshotProgress.shown(lag.getOrElse(Double.NaN))
    ) ++ found.map("walStatus" -> _.status)
  }

  private def snapshotProgress: SnapshotProgress = {
    val known = state
    SnapshotProgress(
      math.max(1, origin.tables.size),
      setup.left(origin, known).size,
      known.snapshotRows,
      copying.fold(0L)(_._2),
      copying.map(_._3),
      copying.fold(0.0)(run => (System.nanoTime() - run._1) / 1e9)
    )
  }

  override def close(): Unit = {
    closed = true
    if (thread.isAlive) {
      thread.interrupt()
      thread.join()
    }
    journal.close()
  }

  private def restored(): ChangeState = {
    var found = ChangeState.Empty
    try
      journal.restore(bytes => found = ChangeState.read(bytes))((bytes, length) =>
        found = found.after(new FrameReader(bytes, length)))
    catch { case e: IllegalArgumentException => throw new JournalDamage(store.toString, e.getMessage) }
    found.after(witnesses.newest)
  }

  private def run(): Unit =
    try while (!closed) attempt()
    catch {
      case _: InterruptedException if closed => ()
      // An error of the JVM, too: a query whose thread has ended must not wait for it.
      case e: Throwable =>
        if (!closed) {
          val error = explained(e)
          log.warn(s"${options.source}: nothing more is captured: ${error.problem}")
          failure = Some(error)
        }
    }

  /** Reads until the connection is lost. */
  private def attempt(): Unit =
    try {
      see(Some(setup.check(origin, state)))
      refusal = setup.server.catalog(setup.changes(_, origin))
      val left = setup.left(origin, state)
      if (left.nonEmpty) {
        val complete = state.snapshots.values.filter(_.isComplete).map(_.rows).maxOption.getOrElse(0L)
        copying = Some((System.nanoTime(), state.snapshotRows, complete + setup.expectedRows(left)))
      }
      left.foreach(table => state = copy(table))
      if (left.nonEmpty) Failpoints.reach(Failpoint.SnapshotCopied)
      Using.resource(setup.stream(origin, confirmed)) { stream =>
        Using.resource(new StreamWatch(setup.server, origin.slot, stream, patience)) { watch =>
          try read(stream)
          catch {
            case e: SQLException if !closed =>
              watch.release()
              throw e
          }
        }
      }
    } catch {
      // The publication did not exist when a change was made.
      case e: SQLException if e.getSQLState == "42704" && refusal.nonEmpty => throw refusal.fold[Throwable](e)(_._2)
      case e: SQLException if setup.server.isTransient(e) && !closed =>
        reconnects.increment()
        log.warn(s"${options.source}: the connection was lost: ${setup.server.explain(e).problem}")
        Thread.sleep(PauseAfterLoss)
    }

  /** Longer than from one heartbeat to the next, which comes back through the stream. */
  private def patience: Duration = {
    val beat = options.heartbeat
    val (shortest, longest) = (Duration.ofSeconds(1), Duration.ofMinutes(1))
    Seq(Seq(beat.plus(beat), beat.plusSeconds(10), longest).min, shortest).max
  }

  private def copy(table: CdcTable): ChangeState = {
    val append = (rows: Int, frame: Bytes, before: ChangeState, after: ChangeState) => {
      write(rows, frame, before.toBytes)
      state = after
      Failpoints.reach(Failpoint.RowsCopied)
      watch()
    }
    def pause(): Unit = while (isFull) {
      Thread.sleep(FullPause)
      watch()
    }
    setup.snapshot(origin, table, state, append, () => pause()).run(state)
  }

  private def read(stream: SlotStream): Unit = {
    val intake = new ChangeIntake(
      state,
      durable,
      new ChangeRules(options.preimages && !options.tables.isSeveral),
      capture,
      truncated,
      setup.contained(state),
      setup.moved(origin),
      ddl = setup.ddlRefusal(origin)(_).foreach { error =>
        refuse()
        error.foreach(throw _)
      })
    var flushed, beat = System.nanoTime()
    var pause = 1L
    reached = confirmed

    def confirm(lsn: Option[Long]): Unit = {
      state = intake.reached
      flushed = System.nanoTime()
      lsn.filter(_ != confirmed).foreach { position =>
        confirmed = position
        if (compareUnsigned(position, reached) > 0) reached = position
        stream.confirm(position)
        Failpoints.reach(Failpoint.ChangesConfirmed)
      }
    }

    while (!closed) {
      val now = System.nanoTime()
      // What was committed before the change is delivered first.
      refusal.filter(change => isBefore(change._1)).foreach(change => throw change._2)
      if (full) full = isFull
      val message = if (full) null else stream.poll()
      if (isIdle != (message == null && !full)) isIdle = !isIdle
      if (message != null) {
        pause = 1L
        watch(now)
        val moved =
          try intake.take(message)
          catch {
            case e: EpochalException =>
              confirm(intake.flush())
              throw e
          }
        if (moved.nonEmpty) confirm(moved)
      }
      if (intake.hasRows && (message == null || now - flushed > FlushNanos)) confirm(intake.flush())
      else if (message == null) {
        if (compareUnsigned(stream.received, reached) > 0) reached = stream.received
        val isAwaited = end.exists(!hasReached(_))
        if (now - beat > (if (isAwaited) EndBeatNanos else options.heartbeat.toNanos)) {
          beat = now
          confirm(intake.settle())
          look(writes = true)
        }
        if (hasNewDefinition) watch(now)
        if (full) stream.report()
        Thread.sleep(pause)
        pause = math.min(pause + 1, MaxPause)
      }
    }
  }

  private def capture(found: Relation, before: Option[Relation]): Option[Captured] = {
    val captured = setup.capture(origin)(found, before)
    hasNewDefinition = captured.nonEmpty
    // Rows of the new shape have other values under a name.
    def names(relation: Relation, of: Relation) = relation.columns.map(_.name).filter(of.columns.map(_.name).contains)
    if (before.exists(old => names(old, found) != names(found, old))) refuse()
    captured
  }

  private def truncated(table: Relation): Boolean = {
    val isRow = setup.truncated(table)
    if (isRow) refusal = setup.server.look(setup.changes(_, origin, Some(Integer.toUnsignedLong(table.oid))))
    isRow
  }

  /** Ends the stream here if a change of the server's catalog may have hidden or changed rows. */
  private def refuse(): Unit = {
    refusal = setup.server.look(setup.changes(_, origin))
    refusal.foreach(change => throw change._2)
  }

  /** Whether it waits until rows are delivered. */
  def isFull: Boolean = journal.bytesFrom(delivered) >= options.maxJournalBytes

  /** Looks at the slot, if the last look was long ago. */
  private def watch(now: Long = System.nanoTime()): Unit = {
    def isDue = now - seen._2 > (if (hasNewDefinition) DefinedNanos else options.heartbeat.toNanos)
    if (isDue) synchronized {
      if (isDue)
        try look(writes = false)
        // The next change, or heartbeat, meets the loss of the server, too.
        catch { case e: SQLException if setup.server.isTransient(e) => seen = seen._1 -> now }
    }
  }

  /** Looks at the slot, and at the tables.
    *
    * @param writes
    *   whether to write a transaction without rows, which moves it
    */
  private def look(writes: Boolean): Unit = {
    // Retried with the stream: a server that shuts down waits until it is closed.
    val found = setup.server.look { connection =>
      val isBeat = hasNewDefinition || System.nanoTime() - lastComparison > options.heartbeat.toNanos
      if (refusal.isEmpty && isBeat) {
        hasNewDefinition = false
        lastComparison = System.nanoTime()
        refusal = setup.changes(connection, origin)
      }
      if (writes && !setup.isStandby) Sql.query(connection, Beat)(_.getString(1)): Unit
      ServerFacts.slot(connection, origin.slot)
    }
    see(found)
  }

  private def see(found: Option[SlotFacts]): Unit = {
    seen = found -> System.nanoTime()
    for (slot <- found; most <- options.maxSlotLag if slot.retained > most)
      throw Conditions.SlotLagExceeded("slot" -> slot.name, "retained" -> slot.retained, "limit" -> most)
  }

  private object durable extends ChangeSink {
    override def append(rows: Int, frame: Bytes, carry: => Array[Byte]): Unit = {
      write(rows, frame, carry)
      Failpoints.reach(Failpoint.ChangesStored)
    }

    override def witness(transaction: Transaction): Unit = {
      if (journal.isFenced) throw new JournalFenced(0L)
      witnesses.write(transaction)
      Failpoints.reach(Failpoint.WitnessStored)
    }
  }

  private def write(rows: Int, frame: Bytes, carry: => Array[Byte]): Unit = {
    journal.append(rows, frame.array, frame.offset, frame.length)(carry): Unit
    full = isFull
  }

  private def explained(error: Throwable): EpochalException = error match {
    case ours: EpochalException => ours
    case error: SQLException =>
      if (error.getSQLState == UndefinedObject) setup.withoutPublication(origin, error)
      else setup.server.explain(error)
    case other =>
      faults.named.applyOrElse(
        other,
        (e: Throwable) => Conditions.FeedFailed.because(e)("source" -> options.source, "reason" -> e.toString))
  }
}

private object Capture {
  private val log = LoggerFactory.getLogger(classOf[Capture])

  /** Longest time that a change waits for others. */
  private val FlushNanos = 20L * 1000000L

  /** The heartbeat while somebody waits for the end of the log. */
  private val EndBeatNanos = 200L * 1000000L

  /** The heartbeat after a table was defined. */
  private val DefinedNanos = 1000L * 1000000L

  /** From the stream of a slot: the publication did not exist when a change was made. */
  private val UndefinedObject = "42704"

  /** Milliseconds. */
  private val MaxPause = 5L
  private val PauseAfterLoss = 1000L
  private val FullPause = 50L

  private val Beat = "SELECT pg_catalog.pg_logical_emit_message(true, 'epochal', '')"
}
