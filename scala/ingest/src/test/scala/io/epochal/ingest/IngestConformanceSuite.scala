package io.epochal.ingest

import java.nio.file.Path

import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset}
import org.apache.spark.sql.types.StructType

import io.epochal.kit.source.SourceOffset
import io.epochal.testkit.{SourceChecks, SourceFixture}

/** The source's stream checks. Each new stream takes the journal over from the previous one, as a new driver does. */
final class IngestConformanceSuite extends SourceChecks {

  override def sourceName: String = IngestOptions.Format

  override def newFixture(): SourceFixture = new SourceFixture {
    private var made = 0
    private var waiting = Seq.empty[String]
    private var runs = Seq.empty[IngestRun]

    override def schema: StructType = IngestRun.schema

    /** Committed rows are removed from the journal. */
    override def keepsRows: Boolean = false

    override def newStream(checkpoint: Path, partitions: Int): MicroBatchStream = {
      runs +:= new IngestRun(checkpoint, Map("numPartitions" -> partitions.toString))
      store()
      runs.head.stream
    }

    override def newStreamOfAnotherSource(checkpoint: Path): MicroBatchStream = {
      val other = new IngestRun(checkpoint, Map("sourceId" -> "other"))
      runs :+= other
      other.stream
    }

    override def makeAvailable(rows: Int): Unit = {
      waiting ++= (made until made + rows).map(_.toString)
      made += rows
      if (runs.nonEmpty) store()
    }

    /** Stores the rows in arrivals of different sizes. */
    private def store(): Unit = {
      waiting.grouped(3).foreach(records => IngestStreams.store(runs.head.source.receiver.intake, records))
      waiting = Nil
    }

    override def rowsBefore(offset: Offset): Long = offset match {
      case SourceOffset(position: IngestPosition, _) => position.row
      case other                                     => fail(s"not an offset of ours: $other")
    }

    override def close(): Unit = runs.foreach(_.close())
  }
}
