package io.epochal.kit.connector

import java.nio.file.{Files, Path}
import java.time.Clock
import java.util.UUID

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.source.{InitialOffset, SourceOffset, SourceStream}
import io.epochal.testkit.{MicroBatch, Serialization, SourceChecks, SourceFixture}

/** The kit's part of a source connector, shown on the smallest one. */
final class SourceConnectorSuite extends SourceChecks {

  override def sourceName: String = "numbers"

  override def newFixture(): SourceFixture = new SourceFixture {
    private val feed = UUID.randomUUID().toString
    override val schema: StructType = StructType.fromDDL("id BIGINT")
    override def newStream(checkpoint: Path, partitions: Int): MicroBatchStream = stream(checkpoint, partitions, feed)
    override def newStreamOfAnotherSource(checkpoint: Path): MicroBatchStream = stream(checkpoint, 2, s"not-$feed")
    override def makeAvailable(rows: Int): Unit = Numbers.feed(feed).size.addAndGet(rows.toLong): Unit
    override def rowsBefore(offset: Offset): Long = offset match {
      case SourceOffset(ConnectorPosition(rows, _, _, _), _) => rows
      case other                                             => fail(s"not an offset of ours: $other")
    }
  }

  private def stream(checkpoint: Path, partitions: Int, feed: String): MicroBatchStream = {
    val connector = new Numbers
    val settings = connector.settings(Map("feed" -> feed, "retry.initialDelay" -> "1ms"))
    val initial = new InitialOffset(checkpoint.toString, new Configuration())
    val source = new TailSource(connector, ConnectorRead(settings, connector.schema(settings), partitions), initial)
    new SourceStream(source, initial, Clock.systemUTC())
  }

  private def on(claim: String)(body: (String, MicroBatchStream) => Any): Unit = test(s"a connector: $claim") {
    val feed = UUID.randomUUID().toString
    body(feed, stream(Files.createTempDirectory("connector"), 2, feed)): Unit
  }

  private def latest(stream: MicroBatchStream): Option[Offset] = stream match {
    case limited: SourceStream[_] => MicroBatch.next(limited, limited.initialOffset(), limited.getDefaultReadLimit)
    case other                    => fail(s"not a stream of ours: $other")
  }

  on("an offset has the version, the owner, the rows and the position") { (feed, stream) =>
    Numbers.feed(feed).size.set(3)
    assert(
      latest(stream).map(_.json).contains(s"""{"v":1,"format":"numbers","source":"$feed","rows":3,"position":3}"""))
  }

  on("a network failure is retried, and counted") { (feed, stream) =>
    Numbers.feed(feed).size.set(3)
    Numbers.feed(feed).failures.set(3)
    assert(latest(stream).nonEmpty)
    stream match {
      case counted: SourceStream[_] =>
        val metrics = counted.metrics(java.util.Optional.empty()).asScala
        assert(metrics("retries") == "3" && metrics("size") == "3")
      case other => fail(s"not a stream of ours: $other")
    }
  }

  on("a call that keeps failing is an error that names the step") { (feed, stream) =>
    Numbers.feed(feed).failures.set(100)
    val error = refused(Conditions.ConnectorFailed)(latest(stream))
    val values = EpochalException.in(error).get.values
    assert(values("step") == "searched its end" && values("attempts") == "8")
  }

  on("rows without a position after the start are an error of the connector") { (feed, stream) =>
    Numbers.feed(feed).size.set(3)
    Numbers.feed(feed).brokenEnd = true
    refused(Conditions.ConnectorInvalid)(latest(stream))
  }

  on("delivered rows are released") { (feed, stream) =>
    Numbers.feed(feed).size.set(3)
    stream.commit(latest(stream).get)
    assert(Numbers.feed(feed).released == 3)
  }

  test("a connector: a misspelt, missing or wrong option is rejected before a query starts") {
    def inferred(options: (String, String)*) =
      new Numbers().inferSchema(new CaseInsensitiveStringMap(options.toMap.asJava))
    val error = refused(Conditions.OptionUnknown)(inferred("feet" -> "a"))
    assert(error.getMessage.contains("Did you mean 'feed'?"))
    refused(Conditions.OptionRequired)(inferred())
    refused(Conditions.OptionInvalid)(inferred("feed" -> "none"))
  }

  test("a connector: its options print without secrets, and are documented") {
    val connector = new Numbers
    val settings = connector.settings(Map("feed" -> "a", "token" -> "hidden"))
    assert(!settings.toString.contains("hidden"))
    assert(connector.group.specs.map(_.name).take(2) == Seq("feed", "token"))
  }

  test("a connector: tasks without an end follow the rows, and merge to one offset from which micro-batches resume") {
    val feed = UUID.randomUUID().toString
    Numbers.feed(feed).size.set(3)
    val connector = new Numbers
    val settings = connector.settings(Map("feed" -> feed))
    val initial = new InitialOffset(Files.createTempDirectory("connector").toString, new Configuration())
    val source = new TailSource(connector, ConnectorRead(settings, connector.schema(settings), 2), initial)
    val partitions = source.endlessPartitions(ConnectorPosition(5L, Long.box(1L))).map(Serialization.copy(_))
    assert(partitions.length == 1)
    val reader = Serialization.copy(source.endlessReaders).createReader(partitions.head)
    try {
      assert(reader.next(Long.MaxValue) && reader.get().getLong(0) == 1 && reader.next(0) && !reader.next(0))
      assert(source.merge(Seq(Serialization.copy(reader.offset))) == ConnectorPosition(7L, Long.box(3L)))
    } finally reader.close()
  }

  test("a range of numbers is divided without gaps, into no more parts than rows") {
    def bounds(start: Long, end: Long, parts: Int) =
      PositionRange.split(start, end, parts).asScala.map(r => (r.start.longValue, r.end.longValue)).toSeq
    assert(bounds(5, 12, 3) == Seq((5, 8), (8, 10), (10, 12)))
    assert(bounds(5, 7, 9) == Seq((5, 6), (6, 7)))
    assert(bounds(5, 5, 2).isEmpty)
  }
}
