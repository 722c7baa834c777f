package io.epochal.rest.sink

import java.nio.file.{Files, Path}
import java.util.UUID

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.write.streaming.StreamingWrite
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.{LongType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.core.error.EpochalException
import io.epochal.core.ledger.TriggerMode
import io.epochal.kit.spark.RunningQuery
import io.epochal.support.{TestEngine, TestWriteInfo}
import io.epochal.testkit.Epoch

/** The sink without a Spark session: an API, a checkpoint, and a scripted engine. */
final class RestSinkFixture(val api: OrdersApi) {
  val checkpoint: Path = Files.createTempDirectory("epochal-checkpoint")
  var schema: StructType = new StructType().add("id", LongType).add("word", StringType)

  /** The operator that the plan reports as unrepeatable. */
  var hindrance: Option[String] = None
  var outputMode: OutputMode = OutputMode.Append
  var trigger: TriggerMode = TriggerMode.MicroBatch

  var query = "5b3c9f0e-0000-4000-8000-00000000000a"

  def row(n: Long): InternalRow = InternalRow(n, UTF8String.fromString(s"row $n"))

  /** A start of the query, with the options of a test over the common ones. */
  final class Run(more: (String, String)*) {
    private var epoch = 0L
    private val engine =
      new TestEngine(RunningQuery(UUID.randomUUID().toString, trigger, outputMode, checkpoint.toString))
    private val plan = new QueryPlan {
      override def hindrance(id: String): Right[EpochalException, Option[String]] = Right(
        RestSinkFixture.this.hindrance)
      override def currentEpoch: Option[Long] = Some(epoch)
      override def parallelism: Int = 2
    }
    private val settings = RestSinkSettings.read(RestSinkFixture.options(api) ++ more).fold(throw _, identity)
    private val table =
      new RestSinkTable(settings, RequestShape.of(schema, settings).fold(throw _, identity), engine, plan)
    table.check()

    def metrics: Map[String, String] = table.metrics().asScala.toMap

    def write(): StreamingWrite = table.newWriteBuilder(new TestWriteInfo(query, schema)).build().toStreaming

    def begin(number: Long, partitions: Int = 1): Epoch = {
      epoch = number
      new Epoch(number, write(), partitions)
    }

    /** A whole epoch: a partition for each sequence of rows. */
    def epoch(number: Long, partitions: Seq[InternalRow]*): Unit = {
      val now = begin(number, partitions.size)
      now.commit(partitions.zipWithIndex.map { case (rows, p) => now.task(p, p.toLong, rows) })
    }
  }

  def run(more: (String, String)*): Run = new Run(more: _*)
}

object RestSinkFixture {

  def options(api: OrdersApi): Map[String, String] =
    Map("url" -> api.url, "retry.initialDelay" -> "1ms", "retry.maxDelay" -> "5ms", "retry.maxAttempts" -> "4")

  def using(honours: Boolean = true)(body: RestSinkFixture => Any): Unit = OrdersApi.using(honours) { api =>
    val fixture = new RestSinkFixture(api)
    try { body(fixture); () }
    finally org.apache.commons.io.FileUtils.deleteDirectory(fixture.checkpoint.toFile)
  }
}
