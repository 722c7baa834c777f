package io.epochal.testkit.engine

import java.nio.file.{Files, Path}
import java.util.{Properties, TreeMap}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

/** A query that any process can start: what it reads, what it writes to, and its checkpoint below the scene's directory. */
final private[testkit] case class QuerySpec(
    scene: Path,
    format: String,
    options: Map[String, String],
    schema: Option[String],
    columns: Seq[String],
    sink: String,
    sinkOptions: Map[String, String],
    mode: Mode = Mode.MicroBatch
) {

  def checkpoint: Path = scene.resolve("checkpoint")

  /** @param trigger
    *   another one than its mode's own
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

  def save(file: Path): Unit = {
    val fields = new Properties
    def put(name: String, value: String): Unit = { val _ = fields.setProperty(name, value) }
    put("scene", scene.toString)
    put("format", format)
    put("sink", sink)
    put("mode", mode.name)
    schema.foreach(put("schema", _))
    columns.zipWithIndex.foreach { case (column, n) => put(s"column.$n", column) }
    options.foreach { case (name, value) => put(s"read.$name", value) }
    sinkOptions.foreach { case (name, value) => put(s"write.$name", value) }
    Using.resource(Files.newBufferedWriter(file))(fields.store(_, ""))
  }
}

private[testkit] object QuerySpec {

  def load(file: Path): QuerySpec = {
    val fields = new Properties
    Using.resource(Files.newBufferedReader(file))(fields.load)
    def below(prefix: String): Map[String, String] =
      fields.asScala.collect {
        case (name, value) if name.startsWith(prefix) => name.drop(prefix.length) -> value
      }.toMap
    val columns = new TreeMap[Int, String](below("column.").map { case (n, column) => n.toInt -> column }.asJava)
    QuerySpec(
      Path.of(fields.getProperty("scene")),
      fields.getProperty("format"),
      below("read."),
      Option(fields.getProperty("schema")),
      columns.values.asScala.toSeq,
      fields.getProperty("sink"),
      below("write."),
      Mode.named(fields.getProperty("mode"))
    )
  }
}
