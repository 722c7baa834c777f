package io.epochal.kit.sink

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.write.BatchWrite
import org.apache.spark.sql.connector.write.streaming.StreamingWrite
import org.apache.spark.sql.types.{LongType, StructType}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.{OnEpochMismatch, OnLedgerEmpty, OnNewQuery}
import io.epochal.kit.sink.transport.FileMessage
import io.epochal.support.{TestEngine, TestWriteInfo}
import io.epochal.testkit.{Epoch, SinkChecks, SinkFixture, SinkRun}

/** The kit's guarantees for any transactional system, shown on the smallest one. */
final class MemorySinkSuite extends SinkChecks {

  override def sinkName: String = "a sink in memory"
  override def newFixture(): SinkFixture = new MemoryFixture

  private val query = "5b3c9f0e-0000-4000-8000-000000000001"

  private def on(claim: String, badRows: Option[Int] = None)(body: MemoryFixture => Any): Unit =
    test(s"$sinkName: $claim") {
      val fixture = new MemoryFixture(badRows)
      try { body(fixture); () }
      finally fixture.close()
    }

  private def begin(f: MemoryFixture, run: SinkRun, epoch: Long): Epoch = {
    f.logOffsets(epoch, s"""{"epoch":$epoch}""")
    new Epoch(epoch, run.newWrite(), 1)
  }

  private def commit(f: MemoryFixture, epoch: Epoch, numbers: Range): Unit =
    epoch.commit(Seq(epoch.task(0, 0, rows(f, numbers))))

  private def rows(f: MemoryFixture, numbers: Range): Seq[InternalRow] = numbers.map(n => f.row(n.toLong))

  on("a COMMIT whose response is lost is found in the ledger, and not repeated") { f =>
    val run = f.newRun(query)
    commit(f, begin(f, run, 0), 0 until 10)
    f.store.loseResponse(landed = true)
    commit(f, begin(f, run, 1), 10 until 20)
    assert(f.numbers == (0L until 20L))
  }

  on("a COMMIT that was lost before it took effect is run again") { f =>
    val run = f.newRun(query)
    commit(f, begin(f, run, 0), 0 until 10)
    f.store.loseResponse(landed = false)
    commit(f, begin(f, run, 1), 10 until 20)
    assert(f.numbers == (0L until 20L))
  }

  on("an epoch replayed with other rows and unknown offsets is an error") { f =>
    val run = f.newRun(query)
    def replay(numbers: Range): Unit = commit(f, new Epoch(0, run.newWrite(), 1), numbers)
    replay(0 until 10)
    replay(0 until 10)
    refused(Conditions.EpochContentChanged)(replay(10 until 20))
    assert(f.numbers == (0L until 10L))
  }

  on("rows that exceed a message go through a file beside the checkpoint, which is deleted afterwards") { f =>
    val epoch = begin(f, f.newRun(query), 0)
    val message = epoch.task(0, 0, rows(f, 0 until 2000))
    assert(message.isInstanceOf[FileMessage] && f.files.size == 1)
    epoch.commit(Seq(message))
    assert(f.numbers == (0L until 2000L) && f.files.isEmpty)
  }

  on("a row that cannot be stored fails its epoch, and the error names its number and column") { f =>
    val epoch = begin(f, f.newRun(query), 0)
    val error = refused(Conditions.BadRow)(epoch.task(0, 0, Seq(f.row(1), InternalRow(null))))
    val values = EpochalException.in(error).get.values
    assert(Seq("row", "column", "table").map(values).map(_.toString) == Seq("2", "id", "numbers"))
  }

  on("bad rows are counted over all tasks of an epoch, and one too many writes nothing", badRows = Some(3)) { f =>
    val run = f.newRun(query)
    def commit(number: Long, badRowsOfEach: Int): Unit = {
      f.logOffsets(number, s"""{"epoch":$number}""")
      val epoch = new Epoch(number, run.newWrite(), 2)
      val bad = Seq.fill(badRowsOfEach)(InternalRow(null))
      epoch.commit((0 to 1).map(task => epoch.task(task, task.toLong, f.row(2 * number + task) +: bad)))
    }
    commit(0, badRowsOfEach = 1)
    refused(Conditions.TooManyBadRows)(commit(1, badRowsOfEach = 2))
    assert(f.numbers == Seq(0L, 1L))
  }

  on("a query that replaces another empties the target with its first epoch, once") { f =>
    val other = "5b3c9f0e-0000-4000-8000-000000000002"
    val old = f.newRun(query)
    commit(f, begin(f, old, 0), 0 until 10)
    commit(f, begin(f, old, 1), 10 until 20)
    val run = f.newRun(other, OnNewQuery.Replace)
    val first = begin(f, run, 0)
    val message = first.task(0, 0, rows(f, 50 until 60))
    assert(f.numbers == (0L until 20L) && f.store.state.ledger("sink").queryId == query)
    f.store.loseResponse(landed = true)
    first.commit(Seq(message))
    assert(f.numbers == (50L until 60L) && f.store.state.ledger("sink").queryId == other)
    commit(f, begin(f, run, 1), 60 until 70)
    commit(f, begin(f, f.newRun(other, OnNewQuery.Replace), 1), 60 until 70)
    assert(f.numbers == (50L until 70L))
    refused(Conditions.ReplacementIncomplete)(commit(f, begin(f, f.newRun(query, OnNewQuery.Replace), 2), 20 until 30))
    assert(f.store.state.retired(("sink", query)).last.map(_.epoch).contains(1L))
  }

  on("a batch replaces all rows, or appends; one whose COMMIT lost its response is in doubt") { f =>
    def batch(numbers: Range, whole: Boolean): Unit = {
      val write = f.newBatchWrite(query, whole)
      val writer = write.createBatchWriterFactory(() => 1).createWriter(0, 0)
      numbers.foreach(n => writer.write(f.row(n.toLong)))
      write.commit(Array(writer.commit()))
    }
    batch(0 until 10, whole = false)
    batch(10 until 20, whole = false)
    assert(f.numbers == (0L until 20L))
    batch(5 until 7, whole = true)
    assert(f.numbers == Seq(5L, 6L))
    f.store.loseResponse(landed = true)
    refused(Conditions.CommitUnknown)(batch(7 until 9, whole = false))
  }
}

final class MemoryFixture(badRows: Option[Int] = None) extends SinkFixture {
  val store = new MemoryStore
  private val checkpoint = Files.createTempDirectory("epochal-checkpoint")
  private val offsets = Files.createDirectory(checkpoint.resolve("offsets"))

  override val schema: StructType = new StructType().add("id", LongType)
  override def row(n: Long): InternalRow = InternalRow(n)
  override def stored(): java.util.List[java.lang.Long] = numbers.map(Long.box).asJava

  def numbers: Seq[Long] = store.state.numbers

  override def logOffsets(epoch: Long, text: String): Unit =
    Files.writeString(offsets.resolve(epoch.toString), s"v1\n{}\n$text"): Unit

  override def newRun(query: String): SinkRun = newRun(query, OnNewQuery.Fail)

  def newRun(query: String, onNewQuery: OnNewQuery): SinkRun = {
    val table = newTable(Some("sink"), onNewQuery)
    new SinkRun {
      override def newWrite(): StreamingWrite =
        table.newWriteBuilder(new TestWriteInfo(query, schema)).build().toStreaming
    }
  }

  def newBatchWrite(query: String, whole: Boolean): BatchWrite = {
    val builder = newTable(None).newWriteBuilder(new TestWriteInfo(query, schema))
    (if (whole) builder.asInstanceOf[TransactionalWriteBuilder].truncate() else builder).build().toBatch
  }

  private def newTable(sinkId: Option[String], onNewQuery: OnNewQuery = OnNewQuery.Fail): MemoryTable = {
    val settings =
      SinkSettings(sinkId, onNewQuery, OnLedgerEmpty.Fail, OnEpochMismatch.Fail, 8L << 10, None, badRows)
    new MemoryTable(new MemorySink(store, settings), schema, TestEngine.of(checkpoint.toString))
  }

  /** Files of rows. */
  def files: Seq[Path] = Using.resource(Files.walk(checkpoint)) { found =>
    found.iterator.asScala.filter(f => f.toString.contains("epochal-rows") && Files.isRegularFile(f)).toVector
  }

  override def close(): Unit = org.apache.commons.io.FileUtils.deleteDirectory(checkpoint.toFile)
}

final private class MemoryTable(override protected val sink: MemorySink, rows: StructType, engine: TestEngine)
    extends TransactionalTable(rows, engine) {
  override protected val sinkMetrics = new SinkMetrics(sink.format)
}
