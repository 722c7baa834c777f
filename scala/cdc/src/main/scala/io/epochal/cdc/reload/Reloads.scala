package io.epochal.cdc.reload

import java.io.IOException
import java.sql.SQLException

import scala.util.{Failure, Success, Try}

import org.slf4j.LoggerFactory

import io.epochal.cdc.change._
import io.epochal.cdc.pgoutput.Bytes
import io.epochal.cdc.slot.{CaptureServer, Signal}
import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.thread.DaemonThreads

/** Reloads tables, or compares them with their replicas, while their changes are read. Requests are messages in the server's log;
  * comparisons are also requested at intervals.
  *
  * The rows are copied in one snapshot of the server, into a file, while the stream is read on and the table's changes are kept in
  * another. Then a mark is written to the log. The transaction of the mark delivers a row that empties the table, the copied rows, and
  * the changes that the snapshot does not contain. So readers of a replica see the old rows until the new ones are complete, and always
  * a state that the source had. A comparison, or a repair, delivers the same rows, marked as such. Where the key allows it, a table is
  * compared, and loaded for the first time, in chunks, each with a mark of its own. A load has no row that empties the table, and the
  * replica is in no state of the source until its last chunk is delivered.
  *
  * All members except `isLeft`, `left` and `isPassing` are called by the thread that reads the stream.
  *
  * @param slot
  *   whose tables they are
  * @param state
  *   of the journal, as this run finds it
  * @param comparisons
  *   None: requests to compare are ignored
  * @param waits
  *   whether tables that can wait are not to be read now
  * @param copy
  *   stores the row that empties a table, unless it loads it, and the rows, in frames: all, or those of the next chunk. Returns the
  *   server's snapshot in which it has read them, and the chunk. None: the table is not there any more
  */
final private[cdc] class Reloads(
    server: CaptureServer,
    slot: String,
    files: ReloadFiles,
    state: ChangeState,
    tables: ReloadableTables,
    comparisons: Option[ComparisonPlan],
    waits: () => Boolean,
    copy: (RequestedRows, Bytes => Unit) => Option[(ServerSnapshot, Option[Chunk])])
    extends AutoCloseable {
  import Reloads._

  private var running = Option.empty[Copy]

  /** The last transactions of the run. */
  val recent = new RecentTransactions

  /** The copy whose mark was read, or is to be read again. */
  private var complete = files.clean(state)(fulfil)

  /** The requests that it covers, as far as this run knows them. */
  private var otherRequests = Seq.empty[ReloadRequest]

  /** Whether all its rows were passed. */
  private var isPassed = false
  private var pausedNanos = Option.empty[Long]

  /** The chunks that were passed last. */
  private var lastChunks = Map.empty[ReloadRequest, Chunk]

  /** The tables whose rows this stream has passed, and how often a chunk of each lacked values. */
  private var passedTables = Set.empty[Long]
  private var incompleteChunks = Map.empty[Long, Int]

  /** When the next comparison is due, in milliseconds since 1970, and the position of the log at which it is requested. */
  private var dueTime = 0L
  private var lastLsn = 0L

  /** Whether the journal may have a part of a copy, which is delivered whole. */
  @volatile var isPassing: Boolean = hasPart(state)

  private def hasPart(state: ChangeState) = complete.exists(one => state.last.exists(_.transaction.lsn == one.lsn))

  /** Pending requests. */
  def left: Int = files.requests.size

  /** Whether some were requested before a position of the log, or by this run. */
  def isLeft(lsn: Long): Boolean = files.requests.exists(request =>
    request.purpose.isFollowing || java.lang.Long.compareUnsigned(request.lsn, lsn) < 0)

  /** Prepares for a new stream. A copy begins again, unless the journal has a part of it. */
  def open(state: ChangeState, intake: ChangeIntake): Unit = {
    close()
    isPassed = false
    passedTables = Set.empty
    state.last.foreach(part => recent.add(part.transaction.xid))
    complete = files.clean(state)(fulfil)
    otherRequests = complete.toSeq.flatMap(files.coveredLoads)
    lastChunks = files.requests.flatMap(request => files.storedChunk(request).map(request -> _)).toMap
    isPassing = hasPart(state)
    def isWanted(request: ReloadRequest) =
      tables.captures(request.table) &&
        (!request.purpose.compares || comparisons.exists(_.purpose == request.purpose))
    complete.filterNot(copy => isPassing || isWanted(copy.request)).foreach { copy =>
      files.remove(copy.token)
      complete = None
    }
    files.requests.filterNot(isWanted).foreach { request =>
      log.warn(s"${server.place}: the table with the OID ${request.table} is not captured or compared any more")
      files.forget(request)
    }
    intake.requestWholeLoad = requestWhole(intake, _)
    withhold(intake)
    lastLsn = state.last.fold(0L)(_.transaction.lsn)
    schedule()
  }

  /** Requests a load of the whole table instead of its remaining chunks. The old request stays until then, since its last chunk
    * says which rows were delivered.
    */
  private def requestWhole(intake: ChangeIntake, table: Int): Unit = {
    val oid = Integer.toUnsignedLong(table)
    if (!files.requests.exists(one => one.table == oid && one.purpose == ReloadPurpose.Replace)) {
      running
        .filter(copy => copy.request.table == oid && copy.request.purpose == ReloadPurpose.Load)
        .foreach(abandon(_, intake))
      files.require(ReloadRequest(intake.lastLsn, oid, ReloadPurpose.Replace))
      withhold(intake)
    }
  }

  /** Withholds the changes of tables that are to be replaced, or of the rows that are to be loaded. */
  def withhold(intake: ChangeIntake): Unit = {
    val passedRequests = if (isPassed) otherRequests ++ complete.filter(_.isLast).map(_.request) else Nil
    val requests = files.requests.diff(passedRequests)
    // Of several for a table, the first one counts.
    intake.withheldTables = requests.reverseIterator
      .filter(_.purpose == ReloadPurpose.Replace)
      .map(request => request.table.toInt -> request.lsn)
      .toMap
    intake.loadingTables = requests
      .filter(_.purpose == ReloadPurpose.Load)
      .map(request => request.table.toInt -> lastChunks.get(request))
      .toMap
  }

  /** Requests the comparisons that are due, and determines when the next one is. */
  private def schedule(): Unit =
    // A round ends before the next one, so that each table's turn comes.
    for (ComparisonPlan(purpose, Some(interval), _) <- comparisons if !files.requests.exists(_.purpose.compares)) {
      val (now, times) = (System.currentTimeMillis(), files.verifiedTables)
      // The first comparison comes an interval after the first start.
      val tableTimes =
        tables.matching(Signal.allOf(slot)).map(table => table -> math.min(now, times.getOrElse(table, now)))
      tableTimes.filterNot(table => times.contains(table._1)).foreach { case (table, time) =>
        files.noteVerified(table, time)
      }
      val (due, others) = tableTimes.partition(_._2 + interval.toMillis <= now)
      request(due.map(_._1), lastLsn, purpose, again = true)
      dueTime = (others.map(_._2) ++ due.map(_ => now)).minOption.fold(Long.MaxValue)(_ + interval.toMillis)
    }

  /** Begins the next copy between two transactions. Throws the error of one that fails for good, and forgets its request.
    *
    * @param schedules
    *   whether to request the comparisons that have become due; a run that ends would wait for them
    */
  def step(intake: ChangeIntake, schedules: Boolean): Unit = {
    if (schedules && dueTime <= System.currentTimeMillis()) schedule()
    if (files.requests.nonEmpty) begin(intake)
  }

  private def begin(intake: ChangeIntake): Unit = running match {
    case Some(one) if one.request.purpose.compares && files.requests.exists(!_.purpose.compares) => abandon(one, intake)
    case Some(copy) => copy.failure.foreach(end(copy, intake, _))
    case None =>
      val isPaused = pausedNanos.exists(System.nanoTime() - _ < PauseNanos)
      if (complete.isEmpty && !isPaused && intake.isBetweenTransactions) {
        // A replica may wait for these rows.
        val request = files.requests.minBy(one => (one.purpose.compares, one.purpose == ReloadPurpose.Load))
        val canWait = request.purpose.inChunks || !request.purpose.isFollowing
        if (canWait && waits()) pausedNanos = Some(System.nanoTime()) else begin(request, intake)
      }
  }

  private def begin(request: ReloadRequest, intake: ChangeIntake): Unit = {
    val earlier = recent.clone()
    val copy = new Copy(
      RequestedRows(
        request,
        lastChunks.get(request),
        inChunks = incompleteChunks.getOrElse(request.table, 0) < MostIncompleteChunks,
        isFirstCopy = !passedTables(request.table),
        showsRecentCommits = view => earlier.forall(view.shows)
      ))
    intake.recording = Some(copy.recording)
    running = Some(copy)
    copy.thread.start()
  }

  private def end(copy: Copy, intake: ChangeIntake, error: Throwable): Unit = {
    val reason = error match {
      case e: SQLException                              => server.explain(e).problem
      case NotCaptured | NeedsWholeLoad | MissingValues => error.getMessage
      case e                                            => e.toString
    }
    log.warn(s"${server.place}: the copy of the table with the OID ${copy.request.table} ended: $reason")
    abandon(copy, intake)
    error match {
      case NotCaptured    => files.forget(copy.request)
      case NeedsWholeLoad => requestWhole(intake, copy.request.table.toInt)
      case MissingValues =>
        incompleteChunks += copy.request.table -> (incompleteChunks.getOrElse(copy.request.table, 0) + 1)
        pausedNanos = Some(System.nanoTime())
      case _ if server.isTransient(error) => pausedNanos = Some(System.nanoTime())
      case _: InterruptedException        => throw error
      case _ =>
        if (!copy.request.purpose.isFollowing && !isOutdated(error)) files.refuse(copy.request)
        if (!copy.request.purpose.compares || isOutdated(error)) throw error
    }
  }

  /** Whether the next start reads the table as it is. */
  private def isOutdated(error: Throwable) = error match {
    case ours: EpochalException => ours.condition == Conditions.QueryOutdated
    case _                      => false
  }

  /** Ends a copy, whose request stays. */
  private def abandon(copy: Copy, intake: ChangeIntake): Unit = {
    close()
    intake.recording = None
    files.remove(copy.token)
  }

  /** Reads a message of the log.
    *
    * @param begin
    *   called before the rows of the copy whose mark it is
    * @param pass
    *   gets the rows
    */
  def read(message: String, intake: ChangeIntake)(begin: () => Unit)(
      pass: Iterator[FrameReader.StoredChange] => Unit): Unit =
    for (lsn <- intake.lsn)
      if (message.startsWith(Signal.Mark)) deliver(message.stripPrefix(Signal.Mark), lsn, intake)(begin)(pass)
      else if (message.startsWith(Signal.Reload) && !intake.isContained)
        request(message, message.stripPrefix(Signal.Reload), lsn, Some(ReloadPurpose.Reload))
      else if (message.startsWith(Signal.Verify) && !intake.isContained)
        request(message, message.stripPrefix(Signal.Verify), lsn, comparisons.map(_.purpose))

  private def request(message: String, name: String, lsn: Long, purpose: Option[ReloadPurpose]): Unit = {
    val oids = tables.matching(name)
    def ignore(reason: String): Unit = log.warn(s"${server.place}: ignored the request to $message: $reason")
    if (oids.isEmpty) ignore("this query does not capture it, reads CHANGES, or reads from a standby")
    else purpose.fold(ignore("this query was started without verify"))(request(oids, lsn, _))
  }

  private def request(oids: Seq[Long], lsn: Long, purpose: ReloadPurpose, again: Boolean = false): Unit = {
    val current = running.map(_.request).orElse(complete.map(_.request))
    val waiting = files.requests
      .filter(one => one.purpose == purpose && !current.contains(one) && !lastChunks.contains(one))
      .map(_.table)
    oids.diff(waiting).foreach(table => files.request(ReloadRequest(lsn, table, purpose), again))
  }

  private def deliver(token: String, lsn: Long, intake: ChangeIntake)(begin: () => Unit)(
      pass: Iterator[FrameReader.StoredChange] => Unit): Unit = {
    for (copy <- running if copy.token == token && copy.failure.isEmpty) {
      complete = copy.finish(lsn)
      // A chunk covers no other request.
      otherRequests = if (complete.forall(_.chunk.isEmpty)) copy.covers else Nil
      copy.failure.foreach(end(copy, intake, _))
      intake.recording = None
      running = None
      Failpoints.reach(Failpoint.ReloadComplete)
    }
    for (copy <- complete if copy.token == token) {
      isPassing = true
      begin()
      files.read(copy)(pass)
      copy.chunk.foreach(chunk => lastChunks += copy.request -> chunk)
      isPassed = true
      passedTables += copy.request.table
      incompleteChunks -= copy.request.table
      withhold(intake)
    }
  }

  /** Removes the files of a copy that the journal has, or whose mark the server has lost: it has sent later transactions. Without the
    * files a part of the mark's transaction could not be compared, if the server sent it again.
    */
  def settle(state: ChangeState): Unit = {
    lastLsn = state.last.fold(0L)(_.transaction.lsn)
    complete.filter(copy => state.contains(copy.lsn)).foreach { copy =>
      if (!isPassed) files.remove(copy.token)
      else {
        Failpoints.reach(Failpoint.ReloadStored)
        val requests = otherRequests :+ copy.request
        if (copy.isLast) {
          requests.foreach(fulfil)
          requests.foreach(files.removeCopies)
        } else files.keepLastReady(copy)
      }
      reset()
    }
  }

  /** Removes a copy whose mark the server has lost, before the journal stores a position after that mark. */
  def dropLost(next: ChangeState): Unit =
    complete.filter(copy => !isPassed && next.contains(copy.lsn)).foreach { copy =>
      files.remove(copy.token)
      reset()
    }

  private def reset(): Unit = {
    complete = None
    otherRequests = Nil
    isPassed = false
    isPassing = false
  }

  private def fulfil(request: ReloadRequest): Unit = {
    files.forget(request)
    if (comparisons.exists(_.interval.nonEmpty)) files.noteVerified(request.table, System.currentTimeMillis())
  }

  override def close(): Unit = {
    running.foreach(_.close())
    running = None
  }

  /** The rows of a table, and its changes meanwhile. */
  final private class Copy(order: RequestedRows) extends AutoCloseable {
    val request: ReloadRequest = order.request
    val token: String = request.newToken()

    /** The requests for the same rows before they are read. */
    val covers: Seq[ReloadRequest] =
      files.requests.filter(one => one.table == request.table && !one.purpose.compares && !request.purpose.compares)
    private val (rows, changes) = (files.spool(token, ReloadFiles.Rows), files.spool(token, ReloadFiles.Changes))
    @volatile private var result = Option.empty[Try[(ServerSnapshot, Option[Chunk])]]

    val recording = new ChangeRecording(request.table.toInt, keep)

    /** An error of the disk ends the copy, and not the stream. */
    private def keep(frame: Bytes): Unit =
      try changes.write(frame)
      catch { case error: IOException => result = Some(Failure(error)) }

    val thread: Thread = new DaemonThreads("epochal-cdc-reload").newThread { () =>
      try {
        val (snapshot, chunk) = copy(order, rows.write).getOrElse(throw NotCaptured)
        rows.finish()
        result = Some(Success(snapshot -> chunk))
        Failpoints.reach(Failpoint.ReloadCopied)
        server.look(Signal.sql(Signal.Mark + token).query(_)(_.getString(1))): Unit
      } catch { case error: Throwable => result = Some(Failure(error)) }
    }

    def failure: Option[Throwable] = result.flatMap(_.failed.toOption)

    /** Ends it at its mark; None: it has failed. */
    def finish(lsn: Long): Option[CompleteReload] = {
      recording.flush()
      result.flatMap(_.toOption).flatMap { case (snapshot, chunk) =>
        changes.finish()
        val complete = CompleteReload(request, token, lsn, snapshot, chunk)
        val hasAllValues = files.hasAllValues(complete)
        if (hasAllValues) files.finish(complete) else result = Some(Failure(MissingValues))
        Option.when(hasAllValues)(complete)
      }
    }

    /** A thread whose connection is dead ends later: nobody reads its files. */
    override def close(): Unit = {
      thread.interrupt()
      try thread.join(StopMillis)
      finally Seq(rows, changes).foreach(_.close())
    }
  }
}

private[cdc] object Reloads {
  private val log = LoggerFactory.getLogger(classOf[Reloads])

  private object NotCaptured extends RuntimeException("it is not captured any more")
  private object MissingValues extends RuntimeException("an update moved a row into the chunk without its large values")

  /** The rest of a table cannot be loaded in chunks. */
  object NeedsWholeLoad
      extends RuntimeException("the table is to be loaded whole: its key has changed, or values are missing")

  /** After so many a table is read whole. */
  private val MostIncompleteChunks = 3

  /** After a copy that failed, or while none may begin, until the next one. */
  private val PauseNanos = 5L * 1000000000L
  private val StopMillis = 3000L
}
