package io.epochal.kit.spark

import java.lang.ref.WeakReference
import java.nio.file.Files
import java.util.concurrent.atomic.AtomicBoolean

import scala.annotation.unused

import org.apache.hadoop.conf.Configuration
import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd, SparkListenerEvent}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.StreamingQueryListener.{
  QueryProgressEvent,
  QueryStartedEvent,
  QueryTerminatedEvent
}
import org.apache.spark.sql.streaming.{StreamingQueryListener, StreamingQueryManager}

import io.epochal.core.error.EpochalException
import io.epochal.core.ledger.TriggerMode
import io.epochal.core.thread.DaemonThreads

/** The engine that runs a sink's query, as the sink uses it. */
trait SinkEngine {

  def runningQuery(queryId: String): Either[EpochalException, RunningQuery]

  /** The query, if its trigger is continuous or real-time. */
  def endlessQuery(queryId: String, trigger: TriggerMode): Either[EpochalException, EndlessQuery] =
    RunningQuery.endless(queryId, trigger)

  /** The current epoch of this thread's query; None: unknown. */
  def currentEpoch: Option[Long] = None

  /** Runs `action` once this run of a query has ended, successfully or not: shortly afterwards, in a separate thread. The
    * action may be skipped if the JVM exits at once.
    */
  def afterRun(@unused runId: String)(@unused action: => Unit): Unit = ()

  /** Whether this thread is in `start()` of a query. */
  def startsQuery: Boolean = false

  /** Calls `started` of a table within `start()` of a query into it that Spark has accepted. Never for a batch write. */
  def atStart(@unused table: ClaimingSink): Unit = ()

  /** Hadoop's configuration, for reading the checkpoint. */
  def hadoop: Configuration

  /** Creates a directory that the driver and all tasks can access; None if executors are other processes. */
  def temporaryDirectory(): Option[String] = None

  /** The maximum size of all task results of a job; None: unlimited. */
  def maxResultBytes: Option[Long]
}

object SinkEngine {
  object OfActiveSession extends SinkEngine {

    override def currentEpoch: Option[Long] = RunningQuery.currentEpoch

    override def runningQuery(queryId: String): Either[EpochalException, RunningQuery] = RunningQuery.find(queryId)

    override def afterRun(runId: String)(action: => Unit): Unit = {
      val context = SparkSession.active.sparkContext
      context.addSparkListener(new RunEnd(context, runId, () => action))
    }

    /** Spark creates a table in the same way for a batch write. */
    override def startsQuery: Boolean =
      StackWalker
        .getInstance()
        .walk[java.lang.Boolean](frames =>
          Boolean.box(frames.anyMatch(frame => frame.getClassName.endsWith(".DataStreamWriter"))))

    override def atStart(table: ClaimingSink): Unit = {
      val streams = SparkSession.active.streams
      streams.addListener(new QueryStart(streams, new WeakReference(table)))
    }

    override def hadoop: Configuration = SessionHadoop.configuration

    override def temporaryDirectory(): Option[String] =
      Option.when(SparkSession.active.sparkContext.isLocal)(Files.createTempDirectory("epochal-rows").toUri.toString)

    override def maxResultBytes: Option[Long] =
      Some(SparkSession.active.sparkContext.getConf.getSizeAsBytes("spark.driver.maxResultSize", "1g")).filter(_ > 0)
  }
}

/** Waits for the start of the query into a table, which Spark reports in the query's thread before `start()` returns, and then
  * removes itself; also if Spark has refused that query.
  */
final private class QueryStart(streams: StreamingQueryManager, table: WeakReference[ClaimingSink])
    extends StreamingQueryListener {

  override def onQueryStarted(event: QueryStartedEvent): Unit = Option(table.get) match {
    case None => streams.removeListener(this)
    case Some(sink) if RunningQuery.isInto(sink, event.id.toString) =>
      streams.removeListener(this)
      sink.started(event.id.toString)
    case _ =>
  }
  override def onQueryProgress(event: QueryProgressEvent): Unit = ()
  override def onQueryTerminated(event: QueryTerminatedEvent): Unit = ()
}

/** Waits for the end of one run, and then removes itself. Listeners must not be slow: the action has a separate thread. */
final private class RunEnd(context: SparkContext, runId: String, action: () => Unit) extends SparkListener {
  private val ended = new AtomicBoolean

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case query: QueryTerminatedEvent if query.runId.toString == runId => end()
    case _                                                            =>
  }

  override def onApplicationEnd(event: SparkListenerApplicationEnd): Unit = end()

  private def end(): Unit = if (!ended.getAndSet(true)) {
    context.removeSparkListener(this)
    new DaemonThreads("epochal-query-end").newThread(() => action()).start()
  }
}
