package io.epochal.random

import java.time.Clock
import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.{Column, SupportsRead, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.streaming.{ContinuousStream, MicroBatchStream}
import org.apache.spark.sql.connector.read.{Batch, Scan, ScanBuilder}
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.{LongType, StringType, StructField, StructType, TimestampType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.core.error.Conditions

/** `format("epochal-random")`: random strings at a given rate. The teaching connector.
  *
  * It plays every role of a Data Source V2 stream, one file each, and every source here has the same files:
  *
  *   - `RandomProvider` (this file): what Spark finds by name; options are checked here, before a query starts
  *   - [[RandomOptions]]: the options, declared once
  *   - [[RandomOffset]]: the position in the stream and its JSON
  *   - [[RandomStream]]: the driver's part; says what there is and splits it into partitions
  *   - [[RandomReader]]: the executors' part; makes the rows of one partition
  *
  * [[RandomPlan]] and [[RandomStrings]] hold what is peculiar to this source, as pure functions.
  *
  * Columns: `id BIGINT` counts from 0 without a gap; `value STRING` is random; `length BIGINT` is its length in
  * characters; `timestamp TIMESTAMP` grows with the id. None is ever NULL. A row is a pure function of its id and the
  * options: a replay gives the same rows.
  */
final class RandomProvider extends TableProvider with DataSourceRegister {

  override def shortName(): String = RandomOptions.Format

  /** Makes Spark hand a schema of the user's to `getTable`, where it can be refused in words of ours. */
  override def supportsExternalMetadata(): Boolean = true

  /** Asked only where the user gave no schema. */
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = RandomProvider.schema

  /** Called once when the DataFrame is built: the place to refuse bad options. */
  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table = {
    if (schema != RandomProvider.schema)
      throw Conditions.SchemaUnsupported(
        "format" -> RandomOptions.Format,
        "columns" -> RandomProvider.schema.toDDL,
        "schema" -> schema.toDDL)
    new RandomTable(RandomOptions.read(properties.asScala.toMap).fold(throw _, identity), Clock.systemUTC())
  }
}

object RandomProvider {

  val schema: StructType = StructType(
    Seq(
      StructField("id", LongType, nullable = false),
      StructField("value", StringType, nullable = false),
      StructField("length", LongType, nullable = false),
      StructField("timestamp", TimestampType, nullable = false)
    )
  )
}

/** What can be read, and in which modes. */
final private[random] class RandomTable(options: RandomOptions, clock: Clock) extends Table with SupportsRead {

  override def name(): String = RandomOptions.Format

  override def columns(): Array[Column] =
    RandomProvider.schema.map(f => Column.create(f.name, f.dataType, f.nullable)).toArray

  // Spark 4.0 asks only this one.
  override def schema(): StructType = RandomProvider.schema

  override def capabilities(): util.Set[TableCapability] =
    util.EnumSet.of(TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ, TableCapability.CONTINUOUS_READ)

  override def newScanBuilder(ignored: CaseInsensitiveStringMap): ScanBuilder = () => new RandomScan(options, clock)
}

/** One reading of the table: Spark asks it for the stream (or batch) of the mode that the query runs in. */
final private class RandomScan(options: RandomOptions, clock: Clock) extends Scan {

  override def readSchema(): StructType = RandomProvider.schema

  /** Shown in plans and in every progress. */
  override def description(): String = s"${RandomOptions.Format}[${options.source}]"

  override def toBatch: Batch = new RandomBatch(options)

  override def toMicroBatchStream(checkpoint: String): MicroBatchStream = RandomStream(options, checkpoint, clock)

  override def toContinuousStream(checkpoint: String): ContinuousStream = RandomStream(options, checkpoint, clock)
}
