package io.epochal.kit.spark

import java.io.InterruptedIOException
import java.nio.channels.ClosedByInterruptException
import java.util.concurrent.CancellationException
import java.util.{Map => JavaMap, UUID}

import scala.util.Try

import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.streaming.OutputMode
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.TriggerMode

/** A streaming query, from its engine.
  *
  * @param runId
  *   differs from start to start
  * @param checkpoint
  *   the directory with `offsets` and `commits`
  */
final case class RunningQuery(runId: String, trigger: TriggerMode, outputMode: OutputMode, checkpoint: String)

/** Finds a running query by its id.
  *
  * A sink has no other way to learn its query's output mode and trigger: update mode builds the same write as append, and
  * real-time mode runs as micro-batches. The engine's objects are in Spark's shared state, under the query's id, from before
  * the first epoch to after the last. Their class moved within Spark 4, so methods are called by name.
  */
object RunningQuery {

  def find(queryId: String): Either[EpochalException, RunningQuery] = known(queryId)(read)

  /** Controls a continuous or real-time query; must be called in the query's own thread. */
  def endless(queryId: String, trigger: TriggerMode): Either[EpochalException, EndlessQuery] =
    known(queryId) { execution =>
      if (trigger == TriggerMode.Continuous) {
        FirstFailure.watch()
        new ContinuousQuery(execution)
      } else new PlannedQuery(execution, "streaming.sql.batchId")
    }

  /** The current epoch of this thread's query; None in any other thread. */
  def currentEpoch: Option[Long] =
    SparkSession.getActiveSession
      .flatMap(session => Option(session.sparkContext.getLocalProperty("streaming.sql.batchId")))
      .flatMap(_.toLongOption)

  /** The query of this thread; None in any other thread. */
  private[spark] def ofThisThread: Option[ThreadQuery] =
    idOfThisThread.flatMap(id => Try(execution(id)).toOption.map(new ThreadQuery(id, _)))

  /** The trigger of the query of this thread; None in any other thread. */
  def triggerOfThisThread: Option[TriggerMode] =
    idOfThisThread.flatMap(id => Try(triggerMode(call(execution(id), "trigger"))).toOption)

  /** Whether the sink of this thread's query sets uncommitted offsets aside itself; false in any other thread. */
  def hasClaimingSink: Boolean =
    idOfThisThread.exists(id => Try(call(execution(id), "sink")).toOption.exists(_.isInstanceOf[ClaimingSink]))

  private[spark] def isInto(sink: AnyRef, queryId: String): Boolean =
    Try(call(execution(queryId), "sink")).toOption.exists(_ eq sink)

  /** Whether the query of this thread is stopping; false in any other thread. */
  private[spark] def stopped: Boolean =
    idOfThisThread.exists(id => Try(!isActive(execution(id))).getOrElse(false))

  /** Sets the query's message in its `status`, from any thread. Does nothing if this thread runs no query. */
  private[epochal] def messageOfThisThread(): String => Unit =
    idOfThisThread.flatMap(id => Try(execution(id)).toOption).fold((_: String) => ()) { found => text =>
      Try {
        val context = call(found, "getLatestExecutionContext")
        context.getClass.getMethod("updateStatusMessage", classOf[String]).invoke(context, text)
      }: Unit
    }

  /** Ends the continuous query of this thread, with a reason and from any thread, unless it is stopping. Does nothing if this
    * thread runs no such query.
    */
  private[kit] def failureOfThisThread(): Throwable => Unit =
    ofThisThread.fold((_: Throwable) => ())(_.fail)

  private[spark] def end(continuous: AnyRef)(error: Throwable): Unit =
    if (isActive(continuous))
      continuous.getClass.getMethod("stopInNewThread", classOf[Throwable]).invoke(continuous, error): Unit

  private[spark] def isActive(execution: AnyRef): Boolean = call(execution, "isActive") != java.lang.Boolean.FALSE

  /** The optimized plan of its current epoch, or of the last one. */
  private[spark] def plan(queryId: String): Either[EpochalException, LogicalPlan] =
    known(queryId)(found => call(call(found, "lastExecution"), "optimizedPlan").asInstanceOf[LogicalPlan])

  private def idOfThisThread: Option[String] =
    SparkSession.getActiveSession
      .flatMap(session => Option(session.sparkContext.getLocalProperty("sql.streaming.queryId")))

  private def known[A](queryId: String)(of: AnyRef => A): Either[EpochalException, A] =
    Try(of(execution(queryId))).toEither.left.map(error =>
      Conditions.QueryNotFound.because(error)("queryId" -> queryId, "reason" -> String.valueOf(error.getMessage)))

  private def execution(queryId: String): AnyRef = {
    val active = call(call(SparkSession.active, "sharedState"), "activeStreamingQueries")
    Option(active.asInstanceOf[JavaMap[UUID, AnyRef]].get(UUID.fromString(queryId)))
      .getOrElse(throw new NoSuchElementException("it is not among the active queries"))
  }

  private def read(execution: AnyRef): RunningQuery = RunningQuery(
    call(execution, "runId").toString,
    triggerMode(call(execution, "trigger")),
    call(execution, "outputMode").asInstanceOf[OutputMode],
    call(execution, "resolvedCheckpointRoot").toString
  )

  private[spark] def triggerMode(trigger: AnyRef): TriggerMode =
    trigger.getClass.getSimpleName.stripSuffix("$") match {
      case "ContinuousTrigger" => TriggerMode.Continuous
      case "RealTimeTrigger"   => TriggerMode.RealTime
      case _                   => TriggerMode.MicroBatch
    }

  private[spark] def call(on: AnyRef, method: String): AnyRef = on.getClass.getMethod(method).invoke(on)
}

/** The end of the application, which does not end all of its queries: Spark never answers a job that is submitted while it stops. */
private[kit] object ApplicationEnd {

  /** Runs `body` when the application of this thread's session ends, in a thread of Spark. In a thread without a session it does
    * nothing.
    *
    * @return
    *   cancels that
    * @throws InterruptedException
    *   the application has ended
    */
  def run(body: () => Unit): AutoCloseable =
    SparkSession.getActiveSession.map(_.sparkContext).fold[AutoCloseable](() => ()) { context =>
      val listener = new SparkListener {
        override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = body()
      }
      context.addSparkListener(listener)
      // Spark reports the end after it has set this flag: one of the two is seen.
      if (context.isStopped) throw new InterruptedException("the application has ended")
      () => context.removeSparkListener(listener)
    }
}

/** The identity of a query's run, for as long as it is held. */
final private[spark] class ThreadQuery(val id: String, execution: AnyRef) {
  val runId: String = RunningQuery.call(execution, "runId").toString

  /** The user's name for it. */
  val name: Option[String] = Option(RunningQuery.call(execution, "name")).map(_.toString)

  /** Whether it has ended or is stopping. */
  def ended: Boolean = !RunningQuery.isActive(execution)

  /** Ends it, if it is continuous, with a reason and from any thread, unless it is stopping. */
  def fail(error: Throwable): Unit = RunningQuery.end(execution)(error)
}

/** The table of a sink that a run claims. Only then, and while no other run can claim it, it edits Spark's offset log. */
trait ClaimingSink {

  /** Its query has started: see [[SinkEngine.atStart]]. */
  def started(queryId: String): Unit
}

/** A continuous or real-time query, as a sink inspects and controls it. Must be created in the query's own thread, before its
  * tasks start; then any thread may use it.
  */
trait EndlessQuery {

  /** The first epoch of the job that is about to start: Spark has committed the one before. */
  def firstEpoch: Long

  /** Why a restart would not deliver the same rows to the same tasks in the same order, as far as the plan shows. */
  def unrepeatable: Option[String]

  /** The source of a query that is not `unrepeatable`, if it is one of this kit. */
  def counted: Option[CountedStream] = None

  /** Continuous: forgets entries of the offset log that were set aside. Spark would use them as the ends of this run's epochs,
    * and lose rows.
    *
    * @return
    *   an epoch of this run whose offsets are in the log all the same
    */
  def forgetOffsets(): Option[Long]

  /** Continuous: whether this run logged the offsets of the epoch that is being committed. */
  def loggedOffsets(epoch: Long): Boolean

  /** Continuous, where Spark ignores exceptions of a sink's commit: ends the query with this error shortly, unless it is
    * stopping.
    */
  def fail(error: Throwable): Unit
}

/** A real-time query. Spark logs its offsets after the sink has committed.
  *
  * @param epochProperty
  *   the local property of the query's thread with the first epoch of the next job
  */
private class PlannedQuery(execution: AnyRef, epochProperty: String) extends EndlessQuery {
  override def firstEpoch: Long = Option(SparkSession.active.sparkContext.getLocalProperty(epochProperty))
    .flatMap(_.toLongOption)
    .getOrElse(throw Conditions
      .QueryNotFound("queryId" -> "of this thread", "reason" -> s"its local property $epochProperty is not set"))
  override def unrepeatable: Option[String] = CountedPlan.refusal(execution)
  override def counted: Option[CountedStream] = CountedPlan.stream(execution)
  override def forgetOffsets(): Option[Long] = None
  override def loggedOffsets(epoch: Long): Boolean = true
  override def fail(error: Throwable): Unit = ()
}

final private class ContinuousQuery(execution: AnyRef) extends PlannedQuery(execution, "__continuous_start_epoch") {
  import RunningQuery.call

  override def forgetOffsets(): Option[Long] = {
    val log = call(execution, "offsetLog")
    cache(log).foreach(_.keySet.removeIf(epoch => epoch.asInstanceOf[Long] >= firstEpoch))
    latest(log).filter(_ >= firstEpoch)
  }

  private def latest(log: AnyRef): Option[Long] =
    call(log, "getLatestBatchId").asInstanceOf[Option[Any]].map(_.toString.toLong)

  /** The log caches the latest entries that it has written itself. */
  override def loggedOffsets(epoch: Long): Boolean = Try {
    cache(call(execution, "offsetLog")).forall(_.containsKey(epoch))
  }.getOrElse(true)

  private def cache(log: AnyRef): Option[java.util.Map[Any, Any]] =
    Option.when(call(log, "metadataCacheEnabled") == java.lang.Boolean.TRUE)(
      call(log, "batchCache").asInstanceOf[java.util.Map[Any, Any]])

  override def fail(error: Throwable): Unit = RunningQuery.end(execution)(error)
}

/** Reports a query's stop to Spark as an InterruptedException.
  *
  * `StreamingQuery.stop()` interrupts the query's thread. Spark recognises a stop only by certain exceptions, but a library
  * below Epochal may throw its own for an interrupt, hide it in a cause, or even clear the thread's flag. Every method that
  * Spark calls on the query's thread runs in [[guard]], the only place that decides.
  */
private[epochal] object QueryStop {
  private val log = LoggerFactory.getLogger("io.epochal.kit.spark.QueryStop")

  /** Runs `body`.
    *
    * @throws InterruptedException
    *   if `body` failed because it was interrupted, or while its query was stopping; the failure is its cause
    */
  def guard[A](body: => A): A =
    try body
    catch {
      case stop: InterruptedException                                                   => throw stop
      case error: Exception if flagged || isInterruption(error) || RunningQuery.stopped => throw interruption(error)
    }

  /** Whether an interrupt is among the causes. Timeouts, which are subclasses of InterruptedIOException, do not count. */
  def isInterruption(error: Throwable): Boolean =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null).take(50).exists {
      case io: InterruptedIOException                               => io.getClass == classOf[InterruptedIOException]
      case _: InterruptedException                                  => true
      case _: ClosedByInterruptException | _: CancellationException => true
      case _                                                        => false
    }

  private def flagged: Boolean = Thread.currentThread().isInterrupted

  private def interruption(error: Exception): InterruptedException = {
    log.info(s"Interrupted: $error")
    val stop = new InterruptedException(error.getMessage)
    stop.initCause(error)
    stop
  }
}
