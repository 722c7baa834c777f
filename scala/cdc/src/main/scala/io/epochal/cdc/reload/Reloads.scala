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
  * a state that the source had. A comparison delivers the same rows, marked as such.
  *
  * All members except `isLeft`, `left` and `isPassing` are called by the thread that reads the stream.
  *
  * @param slot
  *   whose tables they are
  * @param state
  *   of the journal, as this run finds it
  * @param comparisons
  *   None: requests to compare are ignored
  * @param copy
  *   stores the row that empties a table, and its rows, in frames; returns the server's snapshot in which it has read them. None: the
  *   table is not there any more
  */
final private[cdc] class Reloads(
    server: CaptureServer,
    slot: String,
    files: ReloadFiles,
    state: ChangeState,
    tables: ReloadableTables,
    comparisons: Option[ComparisonPlan],
    copy: (ReloadRequest, Bytes => Unit) => Option[ServerSnapshot])
    extends AutoCloseable {
  import Reloads._

  private var running = Option.empty[Copy]

  /** The last transactions of the run. */
  val recent = new RecentTransactions

  /** The copy whose mark was read, or is to be read again. */
  private var complete = files.clean(state)

  /** The requests that it covers, as far as this run knows them. */
  private var otherRequests = Seq.empty[ReloadRequest]

  /** Whether all its rows were passed. */
  private var isPassed = false
  private var failedNanos = Option.empty[Long]

  /** When the next comparison is due, in milliseconds since 1970, and the position of the log at which it is requested. */
  private var dueTime = 0L
  private var openLsn = 0L

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
    otherRequests = Nil
    complete = files.clean(state)
    isPassing = hasPart(state)
    def isWanted(request: ReloadRequest) =
      tables.captures(request.table) && (!request.purpose.isSlow || comparisons.nonEmpty)
    complete.filterNot(copy => isPassing || isWanted(copy.request)).foreach { copy =>
      files.remove(copy.token)
      complete = None
    }
    files.requests.filterNot(isWanted).foreach { request =>
      log.warn(s"${server.place}: the table with the OID ${request.table} is not captured or compared any more")
      files.forget(request)
    }
    withhold(intake)
    openLsn = state.last.fold(0L)(_.transaction.lsn)
    schedule()
  }

  /** Withholds the changes of tables that are to be replaced. */
  def withhold(intake: ChangeIntake): Unit = {
    val passedRequests = if (isPassed) otherRequests ++ complete.map(_.request) else Nil
    val requests = files.requests.filter(_.purpose == ReloadPurpose.Replace).diff(passedRequests)
    // Of several for a table, the first one counts.
    intake.withheldTables = requests.reverseIterator.map(request => request.table.toInt -> request.lsn).toMap
  }

  /** Requests the comparisons that are due, and determines when the next one is. */
  private def schedule(): Unit =
    // A round ends before the next one, so that each table's turn comes.
    for (ComparisonPlan(purpose, Some(interval), _) <- comparisons if !files.requests.exists(_.purpose.isSlow)) {
      val now = System.currentTimeMillis()
      val times = files.verifiedTables
      // The first comparison comes an interval after the first start.
      val tableTimes =
        tables.matching(Signal.allOf(slot)).map(table => table -> math.min(now, times.getOrElse(table, now)))
      tableTimes.filterNot(table => times.contains(table._1)).foreach { case (table, time) =>
        files.noteVerified(table, time)
      }
      val (due, others) = tableTimes.partition(_._2 + interval.toMillis <= now)
      request(due.map(_._1), openLsn, purpose, again = true)
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
    case Some(copy) if copy.request.purpose.isSlow && files.requests.exists(!_.purpose.isSlow) => abandon(copy, intake)
    case Some(copy) => copy.failure.foreach(end(copy, intake, _))
    case None =>
      val isPaused = failedNanos.exists(System.nanoTime() - _ < PauseNanos)
      if (complete.isEmpty && !isPaused && intake.isBetweenTransactions) {
        // A replica may wait for these rows.
        val request = files.requests.minBy(_.purpose.isSlow)
        val copy = new Copy(request, recent.clone())
        intake.recording = Some(copy.recording)
        running = Some(copy)
        copy.thread.start()
      }
  }

  private def end(copy: Copy, intake: ChangeIntake, error: Throwable): Unit = {
    val reason = error match {
      case e: SQLException => server.explain(e).problem
      case e               => e.toString
    }
    log.warn(s"${server.place}: the copy of the table with the OID ${copy.request.table} ended: $reason")
    abandon(copy, intake)
    error match {
      case NotCaptured                    => files.forget(copy.request)
      case _ if server.isTransient(error) => failedNanos = Some(System.nanoTime())
      case _: InterruptedException        => throw error
      case _ =>
        if (!copy.request.purpose.isFollowing && !isOutdated(error)) files.refuse(copy.request)
        if (!copy.request.purpose.isSlow || isOutdated(error)) throw error
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
    val waiting = files.requests.filterNot(current.contains).filter(_.purpose == purpose).map(_.table)
    oids.diff(waiting).foreach(table => files.request(ReloadRequest(lsn, table, purpose), again))
  }

  private def deliver(token: String, lsn: Long, intake: ChangeIntake)(begin: () => Unit)(
      pass: Iterator[FrameReader.StoredChange] => Unit): Unit = {
    for (copy <- running if copy.token == token && copy.failure.isEmpty) {
      complete = copy.finish(lsn)
      otherRequests = copy.covers
      copy.failure.foreach(end(copy, intake, _))
      intake.recording = None
      running = None
      Failpoints.reach(Failpoint.ReloadComplete)
    }
    for (copy <- complete if copy.token == token) {
      isPassing = true
      begin()
      files.read(copy)(pass)
      isPassed = true
      withhold(intake)
    }
  }

  /** Removes the files of a copy that the journal has, or whose mark the server has lost: it has sent later transactions. Without the
    * files a part of the mark's transaction could not be compared, if the server sent it again.
    */
  def settle(state: ChangeState): Unit = for (copy <- complete if state.contains(copy.lsn)) {
    if (isPassed) {
      Failpoints.reach(Failpoint.ReloadStored)
      (copy.request +: otherRequests).foreach(files.forget)
      if (comparisons.exists(_.interval.nonEmpty)) files.noteVerified(copy.request.table, System.currentTimeMillis())
    }
    files.remove(copy.token)
    complete = None
    otherRequests = Nil
    isPassed = false
    isPassing = false
  }

  override def close(): Unit = {
    running.foreach(_.close())
    running = None
  }

  /** The rows of a table, and its changes meanwhile.
    *
    * @param earlier
    *   the last transactions whose changes are not kept
    */
  final private class Copy(val request: ReloadRequest, earlier: RecentTransactions) extends AutoCloseable {
    val token: String = request.newToken()

    /** The requests for the same rows before they are read. */
    val covers: Seq[ReloadRequest] =
      files.requests.filter(one => one.table == request.table && !one.purpose.isSlow && request.purpose.delivers)
    private val (rows, changes) = (files.spool(token, ReloadFiles.Rows), files.spool(token, ReloadFiles.Changes))
    @volatile private var result = Option.empty[Try[ServerSnapshot]]

    val recording = new ChangeRecording(request.table.toInt, keep)

    /** An error of the disk ends the copy, and not the stream. */
    private def keep(frame: Bytes): Unit =
      try changes.write(frame)
      catch { case error: IOException => result = Some(Failure(error)) }

    val thread: Thread = new DaemonThreads("epochal-cdc-reload").newThread { () =>
      try {
        val snapshot = copy(request, rows.write).getOrElse(throw NotCaptured)
        if (snapshot.running.exists(earlier.contains)) throw NotVisible
        rows.finish()
        result = Some(Success(snapshot))
        Failpoints.reach(Failpoint.ReloadCopied)
        server.look(Signal.sql(Signal.Mark + token).query(_)(_.getString(1))): Unit
      } catch { case error: Throwable => result = Some(Failure(error)) }
    }

    def failure: Option[Throwable] = result.flatMap(_.failed.toOption)

    /** Ends it at its mark; None: it has failed. */
    def finish(lsn: Long): Option[CompleteReload] = {
      recording.flush()
      for (snapshot <- result.flatMap(_.toOption)) yield {
        changes.finish()
        val complete = CompleteReload(request, token, lsn, snapshot)
        files.finish(complete)
        complete
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

private object Reloads {
  private val log = LoggerFactory.getLogger(classOf[Reloads])

  private object NotCaptured extends RuntimeException("it is not captured any more")
  private object NotVisible extends SQLException("a transaction that was delivered is not yet visible", "08000")

  /** After a copy that failed, until the next one. */
  private val PauseNanos = 5L * 1000000000L
  private val StopMillis = 3000L
}
