package io.epochal.jdbc

import java.nio.file.{Files, Path}
import java.util.UUID

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.write.streaming.StreamingWrite
import org.apache.spark.sql.connector.write.{BatchWrite, WriteBuilder}
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.{LongType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.core.ledger.TriggerMode
import io.epochal.jdbc.dialect.Dialects
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.kit.sink.TransactionalWriteBuilder
import io.epochal.kit.spark.RunningQuery
import io.epochal.support.{TestEngine, TestWriteInfo}
import io.epochal.testkit.{SinkFixture, SinkRun}

/** The sink without a Spark session: the table `t` of a database, a checkpoint, and an engine controlled by the test. */
final class JdbcSinkFixture(val database: TestDatabase, val schema: StructType = JdbcSinkFixture.Schema)
    extends SinkFixture {

  val checkpoint: Path = Files.createTempDirectory("epochal-checkpoint")
  private val offsets = Files.createDirectory(checkpoint.resolve("offsets"))

  override def row(n: Long): InternalRow = InternalRow(n, UTF8String.fromString(s"row $n"))

  override def newRun(query: String): SinkRun = newRun(query, Map("sinkId" -> "sink"))

  def newRun(
      query: String,
      more: Map[String, String],
      outputMode: OutputMode = OutputMode.Append,
      trigger: TriggerMode = TriggerMode.MicroBatch
  ): JdbcRun = {
    val options = JdbcOptions.read(database.options("t") ++ more).fold(throw _, identity)
    val running = RunningQuery(UUID.randomUUID().toString, trigger, outputMode, checkpoint.toString)
    new JdbcRun(options, schema, query, running, starts = more.contains("checkpointLocation"))
  }

  override def logOffsets(epoch: Long, text: String): Unit =
    Files.writeString(offsets.resolve(epoch.toString), s"v1\n{}\n$text"): Unit

  override def stored(): java.util.List[java.lang.Long] = numbers.map(Long.box).asJava

  def numbers: Seq[Long] = database.query("SELECT id FROM t").map(_.head.asInstanceOf[Number].longValue)

  override def close(): Unit = {
    database.close()
    org.apache.commons.io.FileUtils.deleteDirectory(checkpoint.toFile)
  }
}

object JdbcSinkFixture {
  val Schema: StructType = new StructType().add("id", LongType, nullable = false).add("word", StringType)
}

/** One start of a query. */
final class JdbcRun(options: JdbcOptions, schema: StructType, queryId: String, running: RunningQuery, starts: Boolean)
    extends SinkRun {

  val engine = new TestEngine(running, starts)

  /** Runs the checks of a query's start. */
  val table: JdbcTable = {
    val dialect = Dialects.of(options.connection.url).get
    val made = new JdbcTable(options, dialect, schema, engine)
    made.check()
    engine.starting.foreach(_.started(queryId))
    made
  }

  def metrics: Map[String, String] =
    table.metrics().asScala.toMap

  def newBatchWrite(truncate: Boolean = false): BatchWrite = builder(truncate).build().toBatch

  override def newWrite(): StreamingWrite = builder(running.outputMode == OutputMode.Complete).build().toStreaming

  private def builder(truncate: Boolean): WriteBuilder = {
    val builder = table.newWriteBuilder(new TestWriteInfo(queryId, schema)).asInstanceOf[TransactionalWriteBuilder]
    if (truncate) builder.truncate() else builder
  }
}
