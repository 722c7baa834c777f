package io.epochal.testkit

import java.nio.file.Path
import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.SupportsRead
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.testkit.engine.{Formats, Session}

/** A source as a query reads it: by its format and options, in any process.
  *
  * `makeAvailable(rows)` adds rows to the origin, each unlike any other. It may wait for the query: the kill checks call it
  * in a thread of its own, while the query runs elsewhere. When it returns, the rows count as acknowledged.
  *
  * @param format
  *   the short name, or the class of the `TableProvider`
  */
abstract class FormatSource(val format: String) extends SourceFixture {

  /** The reader's options, the same for every start: whatever else a restart needs must be in the checkpoint. */
  def options: util.Map[String, String]

  /** The same kind of source over another origin. */
  def optionsOfAnotherSource: util.Map[String, String]

  /** Columns in DDL for a reader that must be given them; empty for the source's own. */
  def readerSchema: String = ""

  /** The option for the number of partitions of a batch; empty if there is none. */
  def partitionsOption: String = ""

  /** Whether rows can be added only while a query runs, since they are sent to it. */
  def receives: Boolean = false

  /** Modes beyond micro-batch: `continuous`, `real-time`. */
  def modes: util.Set[String] = util.Set.of()

  override def schema: StructType = table(options).columns().foldLeft(new StructType()) { (all, column) =>
    all.add(column.name(), column.dataType(), column.nullable())
  }

  override def newStream(checkpoint: Path, partitions: Int): MicroBatchStream = {
    val more = if (partitionsOption.isEmpty) Map.empty else Map(partitionsOption -> partitions.toString)
    stream(checkpoint, (options.asScala ++ more).asJava)
  }

  override def newStreamOfAnotherSource(checkpoint: Path): MicroBatchStream = stream(checkpoint, optionsOfAnotherSource)

  private def stream(checkpoint: Path, all: util.Map[String, String]): MicroBatchStream = {
    val _ = Session.get() // a source may ask the session for its settings
    table(all).newScanBuilder(new CaseInsensitiveStringMap(all)).build().toMicroBatchStream(checkpoint.toString)
  }

  private def table(all: util.Map[String, String]): SupportsRead =
    Formats.table(format, all, Some(readerSchema).filter(_.nonEmpty).map(StructType.fromDDL)) match {
      case read: SupportsRead => read
      case other              => throw new IllegalArgumentException(s"${other.name()} cannot be read")
    }
}
