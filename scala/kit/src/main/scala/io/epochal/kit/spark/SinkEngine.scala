package io.epochal.kit.spark

import java.nio.file.Files
import java.util.concurrent.atomic.AtomicBoolean

import scala.annotation.unused

import org.apache.hadoop.conf.Configuration
import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd, SparkListenerEvent}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.write.{SupportsTruncate, WriteBuilder}
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend
import org.apache.spark.sql.streaming.StreamingQueryListener.QueryTerminatedEvent

import io.epochal.core.error.EpochalException
import io.epochal.core.ledger.TriggerMode
import io.epochal.core.thread.DaemonThreads

/** What a sink asks of the engine that drives it. */
trait SinkEngine {

  def runningQuery(queryId: String): Either[EpochalException, RunningQuery]

  /** The same query where its trigger is continuous or real-time. */
  def endlessQuery(queryId: String, trigger: TriggerMode): Either[EpochalException, EndlessQuery] =
    RunningQuery.endless(queryId, trigger)

  /** The epoch that the query of this thread is at; None: unknown. */
  def currentEpoch: Option[Long] = None

  /** Runs `action` once this run of a query has ended, whatever it ended with: a moment later, in a thread of its own. It may
    * be left out, where the engine is in great haste.
    */
  def afterRun(@unused runId: String)(@unused action: => Unit): Unit = ()

  /** To read the checkpoint with. */
  def hadoop: Configuration

  /** A new directory that the driver and all tasks reach; None where executors are other processes. */
  def temporaryDirectory(): Option[String] = None

  /** Bytes that the results of all tasks of a job may have; None: any number. */
  def maxResultBytes: Option[Long]
}

object SinkEngine {

  /** The engine of the session that is active in the calling thread. */
  object OfActiveSession extends SinkEngine {

    override def currentEpoch: Option[Long] = RunningQuery.currentEpoch

    override def runningQuery(queryId: String): Either[EpochalException, RunningQuery] = RunningQuery.find(queryId)

    override def afterRun(runId: String)(action: => Unit): Unit = {
      val context = SparkSession.active.sparkContext
      context.addSparkListener(new RunEnd(context, runId, () => action))
    }

    override def hadoop: Configuration = SessionHadoop.configuration

    override def temporaryDirectory(): Option[String] =
      Option.when(SparkSession.active.sparkContext.isLocal)(Files.createTempDirectory("epochal-rows").toUri.toString)

    override def maxResultBytes: Option[Long] =
      Some(SparkSession.active.sparkContext.getConf.getSizeAsBytes("spark.driver.maxResultSize", "1g")).filter(_ > 0)
  }
}

/** Sees the end of one run, and is gone then. Listeners must not be slow: the action has a thread of its own. */
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

/** A write builder that takes part in all three output modes.
  *
  * Append and update build alike: [[RunningQuery]] tells which it is. Complete, and a batch write in overwrite mode, call
  * `truncate()` first.
  */
trait EveryOutputMode extends WriteBuilder with SupportsTruncate with SupportsStreamingUpdateAsAppend
