package io.epochal.cdc

import java.lang.Long.compareUnsigned
import java.sql.SQLException
import java.util.concurrent.atomic.LongAdder

import scala.util.{Try, Using}

import org.slf4j.LoggerFactory

import io.epochal.cdc.change._
import io.epochal.cdc.pgoutput.Message.{Emitted, Relation, Truncate}
import io.epochal.cdc.pgoutput.{Bytes, Lsn, Message}
import io.epochal.cdc.reload.{ReloadFiles, Reloads}
import io.epochal.cdc.slot.{ServerFacts, Signal, SlotFacts, SlotStream, StreamWatch}
import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.journal.acknowledged.{AcknowledgedJournal, JournalFenced}
import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.source.StoredMark
import io.epochal.kit.source.journal.{AcknowledgedReceiver, JournalFaults}
import io.epochal.kit.store.HadoopFileStore

/** Copies the changes of a slot into a journal, in a thread of its own, from `start` to `close`.
  *
  * @param end
  *   the log position that somebody waits for
  */
final private[cdc] class Capture(
    plan: CapturePlan,
    val origin: CdcOrigin,
    override val journal: AcknowledgedJournal,
    store: HadoopFileStore,
    faults: JournalFaults,
    end: Option[Long])
    extends AcknowledgedReceiver {
  import Capture._
  import plan.{options, server}

  private val check = new ServerCheck(options, server, plan.tables)
  private val reloadFiles = new ReloadFiles(store.below(ReloadDirectory))
  private val tables = new CapturedTables(plan, origin, Some(reloadFiles))
  private val snapshots = new TableSnapshots(plan, origin)
  private val markers = MarkerFiles.in(store)
  private val (restoredState, wholeRow) = ChangeState.of(journal, store.toString)
  @volatile private var state = restoredState.after(markers.newest)
  private val reloads =
    new Reloads(server, origin.slot, reloadFiles, state, tables, options.comparisons, snapshots.waits, snapshots.reload)
  private val thread = new DaemonThreads("epochal-cdc").newThread(() => run())
  private val reconnects = new LongAdder

  @volatile private var isClosed = false
  @volatile private var failure = Option.empty[EpochalException]
  @volatile private var deliveredRow = 0L
  val waitingChanges: WaitingChanges = WaitingChanges.of(journal, store, options, wholeRow)
  private val storedMark = StoredMark.in(store)

  /** The last facts of the slot, and when they were read. */
  @volatile private var slotFacts = (Option.empty[SlotFacts], System.nanoTime())
  @volatile private var isStandby = false

  /** When the catalog was last compared, whether the log has defined a table since, and of when the last mark's facts are. */
  private var comparisonTime, markTime = System.nanoTime()
  @volatile private var hasNewDefinition = false

  /** Whether no message is waiting. */
  @volatile private var isIdle = false
  @volatile private var confirmedLsn = lastLsn

  /** The error for a change that the log does not show, and a position in the log after it. */
  @volatile private var refusal = Option.empty[(Long, EpochalException)]

  /** Everything before it is durable; 0 before the snapshot is complete. */
  @volatile private var durableLsn = 0L

  /** Whether the journal was full at the last check: after each frame, and repeatedly while it is full. */
  private var isJournalFull = true

  override def start(): Unit = thread.start()
  override def ended: Option[EpochalException] = failure

  /** Whether all changes before a log position are in the journal. */
  def isDurable(lsn: Long): Boolean = refusal.isEmpty && isBefore(lsn) && !reloads.isLeft(lsn)

  private def isBefore(lsn: Long) = compareUnsigned(durableLsn, lsn) >= 0
  private def lastLsn: Long = state.last.fold(origin.start)(_.transaction.lsn)

  override def deliveredUntil(row: Long): Unit = {
    deliveredRow = math.max(deliveredRow, row)
    waitingChanges.drop(row)
  }

  override def metrics: Map[String, String] = Map(
    "slot" -> origin.slot,
    "confirmed" -> Lsn.show(confirmedLsn),
    "reconnects" -> reconnects.sum.toString,
    "journalBytes" -> journal.bytes.toString,
    "backlogBytes" -> journal.bytesFrom(deliveredRow).toString,
    "reloadsLeft" -> reloads.left.toString
  ) ++ slotMetrics.metrics ++ (if (origin.snapshot) snapshots.progress(state).metrics else Map.empty)

  private def slotMetrics: SlotMetrics = {
    val receivedLsn = if (isBefore(confirmedLsn)) durableLsn else confirmedLsn
    val (facts, time) = slotFacts
    val age = (System.nanoTime() - time) / 1e9
    val committedAt = state.last.map(_.transaction.committedAt)
    SlotMetrics(facts, age, receivedLsn, isIdle, committedAt, waitingChanges.oldest(deliveredRow))
  }

  override def close(): Unit = {
    isClosed = true
    if (thread.isAlive) {
      thread.interrupt()
      thread.join()
      markStored()
    }
    journal.close()
  }

  private def run(): Unit =
    try Using.resource(reloads)(_ => while (!isClosed) attempt())
    catch {
      case _: InterruptedException if isClosed => ()
      // An error of the JVM, too: a query whose thread has ended must not wait for it.
      case e: Throwable =>
        if (!isClosed) {
          val error = explain(e)
          log.warn(s"${options.source}: nothing more is captured: ${error.problem}")
          failure = Some(error)
        }
    }

  /** Reads until the connection is lost. */
  private def attempt(): Unit =
    try {
      val incomplete = snapshots.incomplete(state)
      val facts = server.catalog(check.resume(_, origin, lastLsn, copies = incomplete.nonEmpty))
      server.catalog(tables.check(_, state))
      isStandby = facts.server.isStandby
      watchSlot(facts.slot)
      refusal = server.look(tables.hiddenChange(_, isStart = true))
      if (incomplete.nonEmpty) copy()
      val isRecent = facts.server.major >= 14 // Older servers send no binary values and no messages.
      Using.resource(server.stream(origin.slot, origin.publication, confirmedLsn, plan.binary && isRecent, isRecent)) {
        stream =>
          Using.resource(new StreamWatch(server, origin.slot, stream, options.heartbeat)) { watch =>
            try read(stream)
            catch {
              case e: SQLException if !isClosed =>
                watch.release()
                throw e
            }
          }
      }
    } catch {
      case e: SQLException if ResumeCheck.isWithoutPublication(e) && refusal.nonEmpty => throw refusal.get._2
      case e: SQLException if server.isTransient(e) && !isClosed =>
        reconnects.increment()
        log.warn(s"${options.source}: begins again: ${server.explain(e).problem}")
        Thread.sleep(PauseAfterLoss)
    }

  private def copy(): Unit = {
    def append(frame: ChangeFrame): Unit = {
      write(frame)
      Failpoints.reach(Failpoint.RowsCopied)
      watch()
    }
    def pause(): Unit = while (isFull) {
      Thread.sleep(FullPause)
      watch()
    }
    snapshots.copy(state, append, pause _)(state = _)
    Failpoints.reach(Failpoint.SnapshotCopied)
  }

  private def read(stream: SlotStream): Unit = {
    val rules = new ChangeRules(options.preimages && options.rows != RowShape.Json, options.onTruncate)
    val intake =
      new ChangeIntake(state, rules, snapshots.view(state), origin.slot, server.place, recent = reloads.recent)
    var flushTime, beatTime = System.nanoTime()
    var pause = 1L
    durableLsn = confirmedLsn
    reloads.open(state, intake)
    def confirm(): Unit = {
      flushTime = System.nanoTime()
      state.last.map(_.transaction.lsn).filter(_ != confirmedLsn).foreach { lsn =>
        confirmedLsn = lsn
        if (compareUnsigned(lsn, durableLsn) > 0) durableLsn = lsn
        stream.confirm(lsn)
        Failpoints.reach(Failpoint.ChangesConfirmed)
      }
    }

    def append(frame: ChangeFrame): Unit = {
      reloads.dropLost(frame.after)
      write(frame)
      Failpoints.reach(Failpoint.ChangesStored)
      confirm()
    }

    /** Stores a frame, or what comes before an error. */
    def appendNext(next: => Option[ChangeFrame]): Unit = {
      val frame =
        try next
        catch {
          case e: EpochalException =>
            intake.flush().foreach(append)
            throw e
        }
      frame.foreach(append)
    }
    while (!isClosed) {
      val now = System.nanoTime()
      // What was committed before the change is delivered first.
      refusal.filter(change => isBefore(change._1)).foreach(change => throw change._2)
      if (!intake.isWithin) waitingChanges.end()
      // The request of a reload goes before later changes of its table are stored.
      if (reloads.isPassing && intake.isBetweenTransactions) intake.flush().foreach(append)
      reloads.settle(state)
      reloads.step(intake, schedules = end.isEmpty)
      if (isJournalFull) isJournalFull = isFull
      val message = if (isJournalFull) null else stream.poll()
      if (isIdle != (message == null && !isJournalFull)) isIdle = !isIdle
      if (slotFacts._2 != markTime && now - slotFacts._2 > math.min(MarkNanos, options.heartbeat.toNanos / 2))
        markStored()
      if (message != null) {
        pause = 1L
        watch(now)
        Message.read(message) match {
          case Emitted(_, _, Signal.Prefix, content) =>
            appendNext {
              reloads.read(content, intake) { () =>
                intake.flush().foreach(append)
                waitingChanges.cut()
              } { rows =>
                if (isClosed) throw new InterruptedException
                intake.largeFrame().foreach(append)
                intake.repeat(rows)
                stream.report()
              }
              None
            }
            flushTime = System.nanoTime() // The end follows.
          case other => appendNext(read(intake, other))
        }
      }
      if (intake.hasRows && (message == null || now - flushTime > FlushNanos)) {
        appendNext(intake.flush())
        flushTime = System.nanoTime()
      } else if (message == null) {
        if (compareUnsigned(stream.received, durableLsn) > 0) durableLsn = stream.received
        val isAwaited = reloads.isPassing || end.exists(!isDurable(_))
        if (now - beatTime > (if (isAwaited) EndBeatNanos else options.heartbeat.toNanos)) {
          beatTime = now
          intake.settle().foreach { last =>
            reloads.dropLost(state.after(Some(last)))
            mark(last)
            confirm()
          }
          look(writes = true)
        }
        if (hasNewDefinition) watch(now)
        if (isJournalFull) stream.report()
        Thread.sleep(pause)
        pause = math.min(pause + 1, MaxPause)
      }
    }
  }

  private def read(intake: ChangeIntake, message: Message): Option[ChangeFrame] = message match {
    case relation: Relation =>
      val table = Try(capture(relation, intake))
      reloads.withhold(intake)
      intake.define(relation, table)
    case Emitted(_, _, Emitted.Ddl, statement) =>
      if (!intake.isContained) tables.ddlRefusal(statement).foreach { error =>
        refuse()
        error.foreach(throw _)
      }
      None
    case truncate: Truncate =>
      val oids = intake.truncations(truncate).map(table => Integer.toUnsignedLong(table.relation.oid)).toSet
      if (oids.nonEmpty) refusal = server.look(tables.hiddenChange(_, oids))
      intake.read(truncate)
    case other => intake.read(other)
  }

  private def capture(relation: Relation, intake: ChangeIntake): Option[CapturedTable] = {
    val before = intake.definition(relation.oid)
    val table = tables.capture(relation, before, intake.lsn.filterNot(_ => intake.isContained))
    hasNewDefinition = table.nonEmpty
    // Rows of the new shape have other values under a name.
    def names(one: Relation, other: Relation) = one.columns.map(_.name).filter(other.columns.map(_.name).contains)
    if (before.exists(old => names(old, relation) != names(relation, old))) refuse()
    table
  }

  /** Ends the stream here if a change of the server's catalog may have hidden or changed rows. */
  private def refuse(): Unit = {
    refusal = server.look(tables.hiddenChange(_))
    refusal.foreach(change => throw change._2)
  }

  /** Where a batch from a row on can end. Rows whose transaction began in another segment wait for no end that cannot come. */
  def deliverableUntil(start: Long): Long = waitingChanges
    .deliverableUntil(start, isFull, !reloads.isPassing && failure.exists(_.condition != Conditions.QueryOutdated))

  /** Whether it waits until rows are delivered. */
  def isFull: Boolean = !reloads.isPassing && journal.bytesFrom(deliveredRow) >= options.maxJournalBytes

  /** Reads the facts of the slot, if the last ones are old. */
  private def watch(now: Long = System.nanoTime()): Unit = {
    def isDue = now - slotFacts._2 > (if (hasNewDefinition) DefinedNanos else options.heartbeat.toNanos)
    if (isDue) synchronized {
      if (isDue)
        try look(writes = false)
        // The next change, or heartbeat, meets the loss of the server, too.
        catch { case e: SQLException if server.isTransient(e) => slotFacts = slotFacts._1 -> now }
    }
  }

  /** Looks at the slot, and at the tables.
    *
    * @param writes
    *   whether to write a transaction without rows, which moves it
    */
  private def look(writes: Boolean): Unit =
    // Retried with the stream: a server that shuts down waits until it is closed.
    watchSlot(server.look { connection =>
      val isBeat = hasNewDefinition || System.nanoTime() - comparisonTime > options.heartbeat.toNanos
      if (refusal.isEmpty && isBeat) {
        hasNewDefinition = false
        comparisonTime = System.nanoTime()
        refusal = tables.hiddenChange(connection)
      }
      if (writes && !isStandby) Signal.sql(Signal.Beat).query(connection)(_.getString(1)): Unit
      ServerFacts.slot(connection, origin.slot)
    })

  private def watchSlot(facts: Option[SlotFacts]): Unit = {
    slotFacts = facts -> System.nanoTime()
    for (slot <- facts; bytes <- slot.retained; most <- options.maxSlotLag if bytes > most)
      throw Conditions.SlotLagExceeded("slot" -> slot.name, "retained" -> bytes, "limit" -> most)
  }

  private def write(frame: ChangeFrame): Unit = {
    val ChangeFrame(rows, Bytes(array, offset, length), before, after) = frame
    journal.append(rows, array, offset, length)(before.toBytes): Unit
    waitingChanges.add(journal.until, new FrameReader(array, length).parts.toSeq)
    state = after
    isJournalFull = isFull
  }

  private def markStored(): Unit = {
    markTime = slotFacts._2
    val isKnown = refusal.isEmpty && snapshots.incomplete(state).isEmpty && deliveredRow >= state.snapshotRows
    if (isKnown && !journal.isFenced) slotMetrics.storedUntil.foreach(storedMark.write)
  }

  private def mark(last: CommittedTransaction): Unit = {
    if (journal.isFenced) throw new JournalFenced(0L)
    markers.write(last)
    Failpoints.reach(Failpoint.WitnessStored)
    state = state.after(Some(last))
  }

  private def explain(error: Throwable): EpochalException = error match {
    case ours: EpochalException => ours
    case error: SQLException    => ResumeCheck.explain(error, origin, server)
    case other =>
      faults.named.applyOrElse(
        other,
        (e: Throwable) => Conditions.FeedFailed.because(e)("source" -> options.source, "reason" -> e.toString))
  }
}

private[cdc] object Capture {
  private val log = LoggerFactory.getLogger(classOf[Capture])

  /** The directory of reloads in the source's. */
  val ReloadDirectory = "reload"

  /** Longest time that a change waits for others. */
  private val FlushNanos = 20L * 1000000L

  /** The heartbeat while somebody waits for the end of the log. */
  private val EndBeatNanos = 200L * 1000000L

  /** Longest time after the facts of the slot, whose heartbeat comes back, until the mark of what is stored is written. */
  private val MarkNanos = 500L * 1000000L

  /** The heartbeat after a table was defined. */
  private val DefinedNanos = 1000L * 1000000L

  /** Milliseconds. */
  private val MaxPause = 5L
  private val PauseAfterLoss = 1000L
  private val FullPause = 50L
}
