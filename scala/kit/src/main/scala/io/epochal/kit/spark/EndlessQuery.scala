package io.epochal.kit.spark

import scala.util.Try

import org.apache.spark.sql.SparkSession

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.TriggerMode

/** A continuous or real-time query as a sink must know and steer it. To be made in the query's own thread, before its tasks
  * start; then to be used in any.
  */
trait EndlessQuery {

  /** The first epoch of the job that is about to start: Spark has committed the one before. */
  def firstEpoch: Long

  /** Why a restart would not deliver the same rows to the same tasks in the same order, as far as the plan tells. */
  def unrepeatable: Option[String]

  /** Continuous: forgets offsets that an earlier run logged for epochs that it did not commit. Spark would take them for the
    * ends of this run's epochs, and lose rows.
    */
  def dropUncommittedOffsets(): Unit

  /** Continuous: whether it was this run that logged the offsets of the epoch that is being committed. */
  def loggedOffsets(epoch: Long): Boolean

  /** Continuous, where Spark ignores what a sink's commit throws: ends the query with this error, soon. */
  def fail(error: Throwable): Unit
}

private[spark] object EndlessQuery {

  def of(execution: AnyRef, trigger: TriggerMode): EndlessQuery = trigger match {
    case TriggerMode.Continuous => new ContinuousQuery(execution)
    case _                      => new RealTimeQuery(execution)
  }

  def property(name: String): Long =
    Option(SparkSession.active.sparkContext.getLocalProperty(name))
      .flatMap(_.toLongOption)
      .getOrElse(throw notFound(s"its local property $name is not set"))

  def notFound(reason: String): EpochalException =
    Conditions.QueryNotFound("queryId" -> "of this thread", "reason" -> reason)
}

final private class RealTimeQuery(execution: AnyRef) extends EndlessQuery {
  override def firstEpoch: Long = EndlessQuery.property("streaming.sql.batchId")
  override def unrepeatable: Option[String] = CountedPlan.refusal(execution)
  override def dropUncommittedOffsets(): Unit = ()
  override def loggedOffsets(epoch: Long): Boolean = true
  override def fail(error: Throwable): Unit = ()
}

final private class ContinuousQuery(execution: AnyRef) extends EndlessQuery {
  import RunningQuery.call

  override def firstEpoch: Long = EndlessQuery.property("__continuous_start_epoch")

  override def unrepeatable: Option[String] = CountedPlan.refusal(execution)

  /** By the log itself, which remembers the latest entries. */
  override def dropUncommittedOffsets(): Unit = {
    val log = call(execution, "offsetLog")
    log.getClass.getMethod("purgeAfter", java.lang.Long.TYPE).invoke(log, Long.box(firstEpoch - 1))
    cache(log).foreach(_.keySet.removeIf(epoch => epoch.asInstanceOf[Long] >= firstEpoch))
    latest(log).filter(_ >= firstEpoch).foreach { left =>
      throw Conditions.ModeUnsupported(
        "format" -> "The sink",
        "mode" -> "start under the continuous trigger",
        "reason" -> s"the checkpoint has offsets of epoch $left, which was not committed, and they could not be deleted",
        "suggestion" -> "Stop the query, delete the files above the last one of commits from the checkpoint's directory offsets, and start it again."
      )
    }
  }

  private def latest(log: AnyRef): Option[Long] =
    call(log, "getLatestBatchId").asInstanceOf[Option[Any]].map(_.toString.toLong)

  /** The log remembers the latest entries that it has written itself. */
  override def loggedOffsets(epoch: Long): Boolean = Try {
    cache(call(execution, "offsetLog")).forall(_.containsKey(epoch))
  }.getOrElse(true)

  private def cache(log: AnyRef): Option[java.util.Map[Any, Any]] =
    Option.when(call(log, "metadataCacheEnabled") == java.lang.Boolean.TRUE)(
      call(log, "batchCache").asInstanceOf[java.util.Map[Any, Any]])

  override def fail(error: Throwable): Unit =
    execution.getClass.getMethod("stopInNewThread", classOf[Throwable]).invoke(execution, error): Unit
}
