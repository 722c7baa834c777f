package io.epochal.testkit.engine

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

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
