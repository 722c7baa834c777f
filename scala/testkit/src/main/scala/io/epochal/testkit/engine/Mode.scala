package io.epochal.testkit.engine

import scala.util.Try

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.Trigger

import io.epochal.testkit.report.NotChecked

/** Execution mode of a query: micro-batch, continuous or real-time. */
sealed abstract private[testkit] class Mode(
    val name: String,
    newTrigger: => Trigger,
    val outputMode: String = "append",
    val sinkOptions: Map[String, String] = Map.empty,
    settings: Map[String, String] = Map.empty)
    extends Serializable {

  /** @throws io.epochal.testkit.report.NotChecked
    *   this Spark version does not have the mode
    */
  def trigger: Trigger = newTrigger

  /** Starts a query with the session settings that the mode needs. A query keeps the settings of its start. */
  def starting[A](session: SparkSession)(start: => A): A = Mode.synchronized {
    val before = settings.keys.map(name => name -> session.conf.getOption(name)).toSeq
    settings.foreach { case (name, value) => session.conf.set(name, value) }
    try start
    finally before.foreach { case (name, value) => value.fold(session.conf.unset(name))(session.conf.set(name, _)) }
  }
}

private[testkit] object Mode {

  case object MicroBatch extends Mode("micro-batch", Trigger.ProcessingTime(0))

  case object Continuous extends Mode("continuous", Trigger.Continuous("500 milliseconds"))

  /** Since Spark 4.1. Requires update mode and no asynchronous progress, and accepts only allow-listed sinks by default. */
  case object RealTime
      extends Mode(
        "real-time",
        realTime,
        outputMode = "update",
        sinkOptions = Map("asyncProgressTrackingEnabled" -> "false"),
        settings = Map(
          "spark.sql.streaming.realTimeMode.allowlistCheck" -> "false",
          "spark.sql.streaming.realTimeMode.minBatchDuration" -> "1s",
          "spark.sql.streaming.stateStore.providerClass" ->
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        )
      )

  private def realTime: Trigger =
    Try(classOf[Trigger].getMethod("RealTime", classOf[String])).fold(
      _ => throw new NotChecked("this Spark has no real-time mode"),
      _.invoke(null, "1 second").asInstanceOf[Trigger])
}
