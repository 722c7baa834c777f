package io.epochal.testkit.engine

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

import io.epochal.testkit.report.{Evidence, NotChecked}

/** A query that any process can start: its source, its sink, and its checkpoint below the scene's directory. */
final private[testkit] case class QuerySpec(
    directory: String,
    format: String,
    options: Map[String, String],
    schema: Option[String],
    columns: Seq[String],
    sink: String,
    sinkOptions: Map[String, String],
    mode: Mode = Mode.MicroBatch
) {

  def scene: Path = Path.of(directory)

  def checkpoint: Path = scene.resolve("checkpoint")

  private def commits: Path = checkpoint.resolve("commits")

  /** Epochs that Spark has logged as committed, ascending. */
  def committed: Seq[Long] =
    if (!Files.isDirectory(commits)) Nil
    else
      Using
        .resource(Files.list(commits))(_.iterator.asScala.map(_.getFileName.toString).toVector)
        .flatMap(_.toLongOption)
        .sorted

  /** Removes the last entry of Spark's commit log, so the next start replays that epoch. */
  def forgetLastCommit(): Unit = committed.lastOption.foreach { last =>
    Files.deleteIfExists(commits.resolve(last.toString))
    Files.deleteIfExists(commits.resolve(s".$last.crc"))
  }

  /** @param trigger
    *   overrides the mode's trigger
    */
  def start(session: SparkSession, trigger: Option[Trigger] = None): StreamingQuery = {
    val reader = session.readStream.format(format).options(options)
    val rows = schema.fold(reader)(ddl => reader.schema(ddl)).load().selectExpr(columns: _*)
    val query = rows.writeStream
      .format(sink)
      .options(sinkOptions ++ mode.sinkOptions)
      .option("checkpointLocation", StepFileSystem.uri(checkpoint))
      .outputMode(mode.outputMode)
      .trigger(trigger.getOrElse(mode.trigger))
    mode.starting(session)(query.start())
  }

  /** The same query, with the same checkpoint, in another mode. */
  def in(other: Mode): QuerySpec = copy(mode = other)
}

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

/** Waits for conditions of queries, with a deadline. */
private[testkit] object QueryWatch {

  /** Default deadline. A condition that does not hold by then counts as failed. */
  val DeadlineSeconds: Long = 90
  private val QuietMillis = 4000L

  /** Waits until the condition holds or the time has passed; returns whether it holds. */
  def until(millis: Long = DeadlineSeconds * 1000, pauseMillis: Long = 20)(condition: => Boolean): Boolean = {
    val begin = System.nanoTime()
    var holds = condition
    while (!holds && (System.nanoTime() - begin) / 1000000 < millis) {
      Thread.sleep(pauseMillis)
      holds = condition
    }
    holds
  }

  /** Waits until `done`, the query's end, the deadline, or until the query has waited for data for some seconds.
    *
    * @return
    *   the final value of `done`
    */
  def run(query: StreamingQuery)(done: => Boolean): Boolean = {
    var idleSince = Option.empty[Long]
    val _ = until() {
      val idle = query.lastProgress != null && query.status.message.startsWith("Waiting for data")
      val now = System.currentTimeMillis()
      idleSince = if (idle) idleSince.orElse(Some(now)) else None
      done || !query.isActive || idleSince.exists(now - _ > QuietMillis)
    }
    assertNoError(query)
    done
  }

  def assertNoError(query: StreamingQuery): Unit =
    query.exception.foreach(error => Evidence.broken(s"the query failed: ${Evidence.text(error)}", error))

  /** Stops the query and ignores errors. */
  def stop(query: StreamingQuery): Unit = { val _ = Try(query.stop()) }
}
