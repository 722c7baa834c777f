package io.epochal.kit.sink

import scala.util.control.NonFatal

import org.apache.spark.sql.connector.write.WriterCommitMessage
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger._
import io.epochal.core.option.OptionGroup
import io.epochal.kit.sink.flush.FlushMessage
import io.epochal.kit.sink.row.BadRows
import io.epochal.kit.spark.{EndlessQuery, QueryStop}

/** Commits the epochs of a continuous or real-time query. Its tasks ''flush'': they store rows in the middle of an
  * epoch, in transactions of their own. At the end of the epoch the driver records each task's position in the ledger.
  * Rows stored beyond the last recorded epoch are ''owed'': after a restart they are skipped when they arrive again.
  * `docs/PROTOCOL.md` describes the tables and transactions, `docs/continuous.md` the guarantees.
  *
  * {{{
  *   factory: refuse ── claim ── begin: boundary, owed rows ── tasks: skip owed rows, flush, flush, … ── message
  *   commit:  lock the ledger row ── decide ── boundary and ledger row ── COMMIT
  * }}}
  *
  * A real-time query has an instance for each epoch. A continuous query has one for the whole run, and calls `commit`
  * in a thread without an active session: `begin` reads all that depends on the session.
  *
  * Not guaranteed: that an epoch becomes visible as a whole, or that it is undone after a failure. Stored rows stay.
  */
final private[sink] class FlushingCommit(write: TransactionalWrite) extends CommitStrategy {
  import write._
  import write.request._

  private val log = LoggerFactory.getLogger(classOf[FlushingCommit])
  private lazy val progress = new ProgressCommits(claimed.target, sinkId, sink.settings)
  private var steering: EndlessQuery = _

  override def begin(tasks: Int): StreamingDataWriterFactory = {
    steering = engine.endlessQuery(queryId, query.trigger).fold(throw _, identity)
    steering.unrepeatable.foreach(reason => throw uncounted(reason))
    val epoch = steering.firstEpoch
    metrics.show(sink.settings.sinkId)
    if (!claimed.target.flushes) MicroBatches.refused(sink.format, query.trigger).foreach(throw _)
    val flush = claimed.target.flush(queryId)
    import claimed.row.{generation, runId}
    val regroups = steering.counted.exists(_.regrouped)
    val start =
      ProgressStart(queryId, epoch, query.trigger, tasks, generation, runId, epochs.offsetsHash(epoch - 1), regroups)
    val begin = progress.begin(start)(setAside(epoch))
    steering.counted.foreach(_.keepPartitions())
    log.info(
      s"${sink.format}: sink '{}' begins epoch {} under the ${query.trigger.name} trigger: {} rows are stored beyond it already",
      sinkId,
      Long.box(epoch),
      Long.box(begin.owed))
    new FlushWriterFactory(
      flush,
      claimed.target.rowFormat,
      schema,
      BadRows(sink.settings.badRowLimit, schema, claimed.target.name),
      sink.settings.flush,
      (0 until tasks).map(begin.boundary.ends(_)).toArray[Position]
    )
  }

  /** The ledger shows that Spark has committed no epoch from this one on, or that it will repeat it, and no other run can claim
    * the sink meanwhile.
    */
  private def setAside(epoch: Long): Unit = if (query.trigger == TriggerMode.Continuous) {
    val _ = epochs.setAside(epoch)
    steering.forgetOffsets().foreach(left => throw loggedByOther(left))
  }

  override def commit(epoch: Long, messages: Array[WriterCommitMessage]): Unit =
    try QueryStop.guard(end(epoch, Messages.of[FlushMessage](messages)))
    catch {
      case error: Throwable if query.trigger == TriggerMode.Continuous =>
        stop(error)
        // The thread is not the query's: Spark would end it for an interruption.
        throw if (QueryStop.isInterruption(error)) new IllegalStateException(error.toString) else error
    }

  private def end(epoch: Long, messages: Seq[FlushMessage]): Unit = {
    val attempt = write.attempt(epoch, messages.map(_.delivered).reduce(_ + _))
    val began = System.nanoTime()
    progress.end(attempt, messages.map(message => message.partition -> message.end).toMap) {
      val now = epochs.offsetsHash(epoch)
      if (now != attempt.offsetsHash || isForeign(epoch, now)) throw loggedByOther(epoch)
    }
    metrics.flushed(sinkId, attempt, messages, System.nanoTime() - began)
  }

  /** Whether another run has logged the epoch's offsets. Before the commit, a real-time query has not logged them yet,
    * and a continuous one has.
    */
  private def isForeign(epoch: Long, hash: Option[String]): Boolean = query.trigger match {
    case TriggerMode.RealTime => hash.isDefined
    case _                    => hash.isEmpty || !steering.loggedOffsets(epoch)
  }

  private def loggedByOther(epoch: Long): EpochalException =
    Conditions.EpochLoggedByOther("epoch" -> epoch, "sinkId" -> sinkId)

  /** Stops a continuous query after a failed commit, which Spark ignores: tasks would continue, and no epoch would be
    * committed again. The ledger records the failure, so that tasks store nothing more.
    */
  private def stop(error: Throwable): Unit = {
    try claimed.target.failed(String.valueOf(error.getMessage))
    catch {
      // An interruption too: the query must end.
      case second: Throwable =>
        log.warn("{}: the failure could not be recorded in the ledger: {}", sink.format, second: Any)
    }
    try steering.fail(error)
    catch {
      case NonFatal(second) => log.error(s"${sink.format}: the query could not be stopped after a failure", second)
    }
  }

  private def uncounted(reason: String): EpochalException = OptionGroup.unsupported(
    sink.format,
    s"write this query under the ${query.trigger.name} trigger",
    s"rows that are stored before their epoch ends are recognised by their place in one source's partition, and $reason",
    "Keep to one source, columns computed from its own, and filters; or use {trigger:processingTime=1 second}."
  )

  /** Does nothing: stored rows stay, and the ledger has their positions. */
  override def abort(epoch: Long): Unit = ()
}
