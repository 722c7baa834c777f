package io.epochal.testkit

import java.nio.file.Path
import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.{SupportsRead, TableCapability}
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.connector.read.streaming.{ContinuousStream, MicroBatchStream}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.testkit.engine.{Formats, Session}

/** Fixture of a source that queries read by format and options, from any process.
  *
  * `makeAvailable(rows)` adds distinct rows to the origin. It may wait for the query: the checks with kills call it in a separate
  * thread while the query runs in another process. When it returns, the rows count as acknowledged.
  *
  * @param format
  *   the short name, or the class of the `TableProvider`
  */
abstract class FormatSource(val format: String) extends SourceFixture {

  /** Options of the reader, the same for every start: any other state that a restart needs must be in the checkpoint. */
  def options: util.Map[String, String]

  /** Options of the same kind of source over another origin. */
  def optionsOfAnotherSource: util.Map[String, String]

  /** Schema for the reader, as DDL; empty to let the source infer it. */
  def readerSchema: String = ""

  /** Name of the option that sets the number of partitions of a batch; empty if there is none. */
  def partitionsOption: String = ""

  /** Whether rows can be added only while a query runs, because they are sent to it. */
  def receives: Boolean = false

  /** Supported modes besides micro-batch: `continuous`, `real-time`. Must not be empty for a source with a continuous stream, such as
    * a `SourceConnector` with `tails` or a `ReceivingConnector`, unless `exemptions` has the promises of these modes.
    */
  def modes: util.Set[String] = util.Set.of()

  override def schema: StructType = table(options).columns().foldLeft(new StructType()) { (all, column) =>
    all.add(column.name(), column.dataType(), column.nullable())
  }

  override def newStream(checkpoint: Path, partitions: Int): MicroBatchStream = {
    val more = if (partitionsOption.isEmpty) Map.empty else Map(partitionsOption -> partitions.toString)
    scan((options.asScala ++ more).asJava).toMicroBatchStream(checkpoint.toString)
  }

  override def newStreamOfAnotherSource(checkpoint: Path): MicroBatchStream =
    scan(optionsOfAnotherSource).toMicroBatchStream(checkpoint.toString)

  /** A stream of a continuous query, as a new driver would create it. */
  private[testkit] def newContinuousStream(checkpoint: Path): ContinuousStream =
    scan(options).toContinuousStream(checkpoint.toString)

  /** Whether the source also has a continuous stream. */
  private[testkit] def isContinuous: Boolean =
    table(options).capabilities().contains(TableCapability.CONTINUOUS_READ)

  private def scan(all: util.Map[String, String]): Scan =
    table(all).newScanBuilder(new CaseInsensitiveStringMap(all)).build()

  private def table(all: util.Map[String, String]): SupportsRead = {
    val _ = Session.get() // A source may read settings of the session.
    val provider = Formats.provider(format)
    val columns =
      if (readerSchema.nonEmpty) StructType.fromDDL(readerSchema)
      else provider.inferSchema(new CaseInsensitiveStringMap(all))
    provider.getTable(columns, Array.empty, all) match {
      case read: SupportsRead => read
      case other              => throw new IllegalArgumentException(s"${other.name()} cannot be read")
    }
  }
}
