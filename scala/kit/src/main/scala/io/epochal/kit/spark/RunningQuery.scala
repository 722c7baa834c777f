package io.epochal.kit.spark

import java.util.{Map => JavaMap, UUID}

import scala.util.Try

import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.streaming.OutputMode

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.TriggerMode
import io.epochal.core.offset.CountedStream

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

  def find(queryId: String): Either[EpochalException, RunningQuery] = withQuery(queryId)(read)

  /** Controls a continuous or real-time query; must be called in the query's own thread. */
  def endless(queryId: String, trigger: TriggerMode): Either[EpochalException, EndlessQuery] =
    withQuery(queryId) { execution =>
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

  def triggerOfThisThread: Option[TriggerMode] =
    idOfThisThread.flatMap(id => Try(triggerMode(call(execution(id), "trigger"))).toOption)

  /** Whether the sink of this thread's query sets uncommitted offsets aside itself; false in any other thread. */
  def hasClaimingSink: Boolean =
    idOfThisThread.exists(id => Try(call(execution(id), "sink")).toOption.exists(_.isInstanceOf[ClaimingSink]))

  private[spark] def isInto(sink: AnyRef, queryId: String): Boolean =
    Try(call(execution(queryId), "sink")).toOption.exists(_ eq sink)

  /** Whether the query of this thread is stopping; false in any other thread. */
  private[spark] def stopped: Boolean = stopOfThisThread()()

  /** Whether the query of this thread is stopping, callable from any thread: code below Spark may clear the interrupt of the stop. */
  private[epochal] def stopOfThisThread(): () => Boolean =
    ofThisThread.fold(() => false)(query => () => Try(query.ended).getOrElse(false))

  /** Sets the query's message in its `status`, from any thread. Does nothing if this thread runs no query. */
  private[epochal] def messageOfThisThread(): String => Unit =
    idOfThisThread.flatMap(id => Try(execution(id)).toOption).fold((_: String) => ()) { current => text =>
      Try {
        val context = call(current, "getLatestExecutionContext")
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
    withQuery(queryId)(execution => call(call(execution, "lastExecution"), "optimizedPlan").asInstanceOf[LogicalPlan])

  private def idOfThisThread: Option[String] =
    SparkSession.getActiveSession
      .flatMap(session => Option(session.sparkContext.getLocalProperty("sql.streaming.queryId")))

  private def withQuery[A](queryId: String)(of: AnyRef => A): Either[EpochalException, A] =
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
