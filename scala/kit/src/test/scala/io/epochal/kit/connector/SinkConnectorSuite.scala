package io.epochal.kit.connector

import java.nio.file.Files
import java.util.UUID

import scala.jdk.CollectionConverters._

import org.apache.commons.io.FileUtils
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.write.streaming.StreamingWrite
import org.apache.spark.sql.types.{LongType, StructType}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.support.{TestEngine, TestWriteInfo}
import io.epochal.testkit.{Epoch, SinkChecks, SinkFixture, SinkRun}

/** The kit's part of a sink connector, shown on the smallest one. */
final class SinkConnectorSuite extends SinkChecks {

  override def sinkName: String = "a shelf"
  override def newFixture(): SinkFixture = new ShelfFixture

  private val query = "5b3c9f0e-0000-4000-8000-000000000001"

  private def on(claim: String)(body: ShelfFixture => Any): Unit = test(s"a connector's sink: $claim") {
    val fixture = new ShelfFixture
    try { body(fixture); () }
    finally fixture.close()
  }

  private def commit(f: ShelfFixture, run: SinkRun, number: Long, numbers: Range): Unit = {
    f.logOffsets(number, s"""{"epoch":$number}""")
    val epoch = new Epoch(number, run.newWrite(), 1)
    epoch.commit(Seq(epoch.task(0, 0, numbers.map(n => f.row(n.toLong)))))
  }

  Seq(true -> "after it has taken effect", false -> "before it has taken effect").foreach { case (landed, when) =>
    on(s"a COMMIT whose response is lost $when takes effect once") { f =>
      val run = f.newRun(query)
      commit(f, run, 0, 0 until 10)
      f.shelf.loseResponse(landed)
      commit(f, run, 1, 10 until 20)
      assert(f.numbers == (0L until 20L))
    }
  }

  on("rows that the store drops fail the epoch") { f =>
    f.shelf.swallows = true
    refused(Conditions.RowsDropped)(commit(f, f.newRun(query), 0, 0 until 3))
    assert(f.numbers.isEmpty)
  }

  on("a row that the author's check rejects fails its epoch, and the error names its number and column") { f =>
    val epoch = new Epoch(0, f.newRun(query).newWrite(), 1)
    val error = refused(Conditions.BadRow)(epoch.task(0, 0, Seq(f.row(1), InternalRow(null))))
    assert(Seq("row", "column").map(EpochalException.in(error).get.values) == Seq("2", "id"))
  }

  on("an epoch that is too large for messages goes through files") { f =>
    commit(f, f.newRun(query), 0, 0 until 5000)
    assert(f.numbers == (0L until 5000L))
  }

  on("a second sink with the same target is rejected") { f =>
    commit(f, f.newRun(query, "one"), 0, 0 until 3)
    refused(Conditions.TargetShared)(commit(f, f.newRun("5b3c9f0e-0000-4000-8000-000000000002", "two"), 0, 0 until 3))
  }

  on("a damaged ledger entry is named in the error") { f =>
    commit(f, f.newRun(query), 0, 0 until 3)
    f.shelf.content = f.shelf.content.copy(ledger = f.shelf.content.ledger.map { case (name, _) => name -> "{}" })
    refused(Conditions.LedgerDamaged)(commit(f, f.newRun(query), 1, 3 until 6))
  }
}

final class ShelfFixture extends SinkFixture {
  private val name = UUID.randomUUID().toString
  private val checkpoint = Files.createTempDirectory("epochal-checkpoint")
  private val offsets = Files.createDirectory(checkpoint.resolve("offsets"))
  val shelf: Shelves.Shelf = Shelves.shelf(name)

  override val schema: StructType = new StructType().add("id", LongType)
  override def row(n: Long): InternalRow = InternalRow(n)
  override def stored(): java.util.List[java.lang.Long] = numbers.map(Long.box).asJava

  def numbers: Seq[Long] = shelf.content.rows

  override def logOffsets(epoch: Long, text: String): Unit =
    Files.writeString(offsets.resolve(epoch.toString), s"v1\n{}\n$text"): Unit

  override def newRun(query: String): SinkRun = newRun(query, "sink")

  def newRun(query: String, sinkId: String): SinkRun = {
    val connector = new Shelves
    val options = Map("shelf" -> name, "sinkId" -> sinkId, "inlineMaxBytes" -> "8k", "retry.initialDelay" -> "1ms")
    val settings = SettingsReader.read(connector.group, options).fold(throw _, identity)
    val table = new StoreTable(connector, settings, schema, TestEngine.of(checkpoint.toString))
    new SinkRun {
      override def newWrite(): StreamingWrite =
        table.newWriteBuilder(new TestWriteInfo(query, schema)).build().toStreaming
    }
  }

  override def close(): Unit = FileUtils.deleteDirectory(checkpoint.toFile)
}
