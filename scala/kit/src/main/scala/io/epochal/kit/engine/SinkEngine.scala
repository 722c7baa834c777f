package io.epochal.kit.engine

import java.nio.file.Files

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.SparkSession

import io.epochal.core.error.EpochalException
import io.epochal.core.ledger.TriggerMode

/** What a sink asks of the engine that drives it. */
trait SinkEngine {

  def runningQuery(queryId: String): Either[EpochalException, RunningQuery]

  /** The same query where its trigger is continuous or real-time. */
  def endlessQuery(queryId: String, trigger: TriggerMode): Either[EpochalException, EndlessQuery] =
    RunningQuery.endless(queryId, trigger)

  /** The epoch that the query of this thread is at; None: it cannot be told. */
  def currentEpoch: Option[Long] = None

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

    override def hadoop: Configuration = SessionHadoop.configuration

    override def temporaryDirectory(): Option[String] =
      Option.when(SparkSession.active.sparkContext.isLocal)(Files.createTempDirectory("epochal-rows").toUri.toString)

    override def maxResultBytes: Option[Long] =
      Some(SparkSession.active.sparkContext.getConf.getSizeAsBytes("spark.driver.maxResultSize", "1g")).filter(_ > 0)
  }
}
