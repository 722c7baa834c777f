package io.epochal.kit.sink

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.connector.write.{PhysicalWriteInfo, WriterCommitMessage}
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.{EpochAttempt, Position, ProgressStart, TriggerMode}
import io.epochal.kit.sink.flush.FlushMessage
import io.epochal.kit.sink.row.BadRows
import io.epochal.kit.spark.{EndlessQuery, QueryStop, RunningQuery}

/** The driver's part under a continuous or real-time trigger (K12): tasks store rows themselves, in the middle of an epoch; here
  * the ledger learns where each of them was when it ended.
  *
  * {{{
  *   factory: refuse ── claim ── begin (what is stored, what is owed) ── tasks: skip what is owed, flush, flush, … ── message
  *   commit:  lock the ledger row ── decide ── boundary and ledger row ── COMMIT
  * }}}
  *
  * Real-time makes one for each epoch, continuous one for a run, and calls `commit` in a thread of its own, where no session is
  * active: what that needs is asked for when the factory is made.
  */
final private[sink] class FlushingWrite(
    request: WriteRequest,
    whole: Boolean,
    sinkId: String,
    query: RunningQuery,
    claim: => ClaimedRun)
    extends StreamingWrite {
  import FlushingWrite._
  import request._

  private lazy val claimed = claim
  private lazy val progress = new ProgressCommits(claimed.target, sinkId, sink.settings)
  private var steering: EndlessQuery = _
  private var hadoop: Configuration = _

  override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory = QueryStop.guard {
    sink.refusesEndless(WriteKind(whole, Some(query.outputMode), query.trigger)).foreach(throw _)
    steering = engine.endlessQuery(queryId, query.trigger).fold(throw _, identity)
    hadoop = engine.hadoop
    steering.unrepeatable.foreach(reason => throw uncounted(reason))
    val epoch = steering.firstEpoch
    metrics.show(sink.settings.sinkId)
    if (!claimed.target.flushes) MicroBatches.refused(sink.format, query.trigger).foreach(throw _)
    val flush = claimed.target.flush(queryId)
    val start = ProgressStart(
      queryId,
      epoch,
      query.trigger,
      info.numPartitions,
      claimed.row.generation,
      claimed.row.runId,
      loggedHash(epoch - 1))
    val begin = progress.begin(start)
    steering.dropUncommittedOffsets()
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
      (0 until info.numPartitions).map(begin.boundary.ends(_)).toArray[Position]
    )
  }

  override def useCommitCoordinator(): Boolean = false

  override def commit(epoch: Long, messages: Array[WriterCommitMessage]): Unit =
    try QueryStop.guard(end(epoch, Messages.of[FlushMessage](messages)))
    catch {
      case NonFatal(error) =>
        if (query.trigger == TriggerMode.Continuous) stop(error)
        throw error
    }

  private def end(epoch: Long, messages: Seq[FlushMessage]): Unit = {
    val hash = loggedHash(epoch)
    if (isForeign(epoch, hash)) throw Conditions.EpochLoggedByOther("epoch" -> epoch, "sinkId" -> sinkId)
    val attempt = EpochAttempt(
      queryId,
      epoch,
      claimed.row.generation,
      claimed.row.runId,
      query.trigger,
      hash,
      messages.map(_.delivered).reduce(_ + _))
    val began = System.nanoTime()
    progress.end(attempt, messages.map(message => message.partition -> message.end).toMap)
    metrics.flushed(sinkId, attempt, messages, System.nanoTime() - began)
  }

  /** Real-time logs an epoch's offsets after this, continuous before. */
  private def isForeign(epoch: Long, hash: Option[String]): Boolean = query.trigger match {
    case TriggerMode.RealTime => hash.isDefined
    case _                    => hash.isEmpty || !steering.loggedOffsets(epoch)
  }

  private def loggedHash(epoch: Long): Option[String] =
    if (epoch < 0) None else CheckpointOffsets.hash(query.checkpoint, epoch, hadoop)

  /** There Spark would go on, and never commit an epoch again. */
  private def stop(error: Throwable): Unit = {
    try claimed.target.failed(String.valueOf(error.getMessage))
    catch {
      case NonFatal(second) => log.warn("{}: the ledger was not told of the failure: {}", sink.format, second: Any)
    }
    try steering.fail(error)
    catch {
      case NonFatal(second) => log.error(s"${sink.format}: the query could not be stopped after a failure", second)
    }
  }

  private def uncounted(reason: String): EpochalException = Conditions.ModeUnsupported(
    "format" -> sink.format,
    "mode" -> s"write this query under the ${query.trigger.name} trigger",
    "reason" -> s"rows that are stored before their epoch ends are recognised by their place in one source's partition, and $reason",
    "suggestion" -> "Keep to one source, columns computed from its own, and filters; or use .trigger(processingTime=\"1 second\")."
  )

  /** Called also after a commit that failed, while tasks run: what they have stored stays, and the ledger tells of it. */
  override def abort(epoch: Long, messages: Array[WriterCommitMessage]): Unit = ()

  override def toString: String = sink.description
}

private object FlushingWrite {
  private val log = LoggerFactory.getLogger(classOf[FlushingWrite])
}
