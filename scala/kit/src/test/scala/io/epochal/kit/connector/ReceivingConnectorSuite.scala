package io.epochal.kit.connector

import java.nio.file.{Files, Path}
import java.time.Clock
import java.util.UUID

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
}
