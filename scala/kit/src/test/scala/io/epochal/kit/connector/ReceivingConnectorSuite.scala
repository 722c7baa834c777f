package io.epochal.kit.connector

import java.nio.file.{Files, Path}
import java.time.Clock
import java.util.UUID

import example.spool.Spool
import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset, ReadLimit}
import org.apache.spark.sql.types.StructType

import io.epochal.kit.source.{InitialOffset, SourceOffset, SourceStream}
import io.epochal.testkit.{MicroBatch, SourceChecks, SourceFixture}

/** A connector whose origin cannot repeat its records. */
final class ReceivingConnectorSuite extends SourceChecks {

  override def sourceName: String = "tickets"

  private val columns = StructType.fromDDL("id BIGINT")

  override def newFixture(): SourceFixture = new SourceFixture {
    private val machine = UUID.randomUUID().toString
    override val schema: StructType = columns
    override def newStream(checkpoint: Path, partitions: Int): MicroBatchStream =
      stream(checkpoint, partitions, machine)
    override def newStreamOfAnotherSource(checkpoint: Path): MicroBatchStream = stream(checkpoint, 2, s"not-$machine")
    override def makeAvailable(rows: Int): Unit = Tickets.machine(machine).size.addAndGet(rows.toLong): Unit
    override def rowsBefore(offset: Offset): Long = offset match {
      case SourceOffset(position: ConnectorPosition[_], _) => position.rows
      case other                                           => fail(s"not an offset of ours: $other")
    }
    override def keepsRows: Boolean = false
    override def endIsKnownAtStart: Boolean = false
  }

  private def stream(checkpoint: Path, partitions: Int, machine: String): MicroBatchStream = {
    val connector = new Tickets
    val settings = connector.settings(Map("machine" -> machine))
    val initial = new InitialOffset(checkpoint.toString, new Configuration())
    val source = new ReceivedSource(connector, ConnectorRead(settings, columns, partitions), initial)
    new SourceStream(source, initial, Clock.systemUTC())
  }

  test("a receiver: another run reads records that the origin has deleted from the journal") {
    val (checkpoint, machine) = (Files.createTempDirectory("tickets"), UUID.randomUUID().toString)
    Tickets.machine(machine).size.set(10)
    val first = stream(checkpoint, 2, machine)
    val start = first.initialOffset()
    val end = MicroBatch.next(first, start, ReadLimit.maxRows(7)).get
    val planned = MicroBatch.read(first, columns, start, end)
    first.commit(end)
    assert(Tickets.machine(machine).released >= 7)
    first.stop()
    val second = stream(checkpoint, 2, machine)
    val again = MicroBatch.read(second, columns, second.initialOffset(), second.deserializeOffset(end.json))
    assert(again == planned && again.flatten.toSet == (0L until 7L).toSet)
    second.stop()
  }

  test("the receiver of docs/kit.md: its files are deleted once they are in the journal and logged") {
    val (checkpoint, spool) = (Files.createTempDirectory("checkpoint"), Files.createTempDirectory("spool"))
    Seq("1", "2", "3").foreach(name => Files.writeString(spool.resolve(name), s"text $name"))
    val connector = new Spool
    val settings = connector.settings(Map("directory" -> spool.toString))
    val texts = connector.schema(settings)
    def run() = {
      val initial = new InitialOffset(checkpoint.toString, new Configuration())
      new SourceStream(
        new ReceivedSource(connector, ConnectorRead(settings, texts, 2), initial),
        initial,
        Clock.systemUTC())
    }
    val first = run()
    val start = first.initialOffset()
    val end = MicroBatch.next(first, start, ReadLimit.maxRows(2)).get
    val planned = MicroBatch.read(first, texts, start, end)
    assert(planned.flatten.map(_.toString).toSet == Set("text 1", "text 2"))
    first.commit(end)
    first.stop()
    assert(Files.list(spool).toArray.toSeq == Seq(spool.resolve("3")))
    val second = run()
    assert(MicroBatch.read(second, texts, second.initialOffset(), second.deserializeOffset(end.json)) == planned)
    second.stop()
  }
}
