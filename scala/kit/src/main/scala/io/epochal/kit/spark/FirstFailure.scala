package io.epochal.kit.spark

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.scheduler._
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.StreamingQueryListener.QueryTerminatedEvent
import org.apache.spark.{ExceptionFailure, SparkContext, SparkException, TaskFailedReason, TaskKilled}

/** Ends a continuous query with the first failure of its tasks. Spark starts a failed task again, as in any job; in a continuous
  * query that attempt can only fail, and Spark reports its error in place of the first one.
  */
private[kit] object FirstFailure {
  private val runs = ConcurrentHashMap.newKeySet[String]

  /** Watches the continuous query of this thread until it ends. Does nothing in a thread that runs no query. */
  def watch(): Unit = for {
    context <- SparkSession.getActiveSession.map(_.sparkContext) if !context.master.matches(WithoutRetries)
    query <- RunningQuery.ofThisThread if runs.add(query.runId)
  } context.addSparkListener(new FirstFailure(context, query))

  private val WithoutRetries = "local(\\[[^,]*\\])?"
}

final private class FirstFailure(context: SparkContext, query: ThreadQuery) extends SparkListener {
  private val stages = ConcurrentHashMap.newKeySet[Int]

  override def onJobStart(job: SparkListenerJobStart): Unit =
    if (Option(job.properties).exists(_.getProperty("spark.jobGroup.id") == query.runId))
      job.stageIds.foreach(stages.add(_): Unit)

  override def onTaskEnd(task: SparkListenerTaskEnd): Unit = if (stages.contains(task.stageId)) task.reason match {
    case _: TaskKilled => ()
    case failure: TaskFailedReason =>
      val exception = Option(failure).collect { case error: ExceptionFailure => error }.flatMap(_.exception)
      query.fail(exception.getOrElse(new SparkException(failure.toErrorString)))
    case _ => ()
  }

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case end: QueryTerminatedEvent if end.runId.toString == query.runId =>
      context.removeSparkListener(this)
      FirstFailure.runs.remove(query.runId): Unit
    case _ => ()
  }
}
