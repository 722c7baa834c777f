package io.epochal.random

import java.time.Clock

import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.types.{LongType, StringType, StructType, TimestampType}

import io.epochal.core.error.EpochalException
import io.epochal.core.option.OptionGroup
import io.epochal.kit.source.{InitialOffset, Source, SourceProvider, SourceScan, SourceTable}

/** `format("epochal-random")`: random strings at a given rate. The teaching connector.
  *
  * [[io.epochal.kit.source]] implements the parts common to all sources: the roles of a Data Source V2 stream, offsets in the
  * checkpoint, limits, AvailableNow, lag. A connector adds the rest. Every source has the same files:
  *
  *   - `RandomProvider` (this file): the class that Spark finds by name; declares options, columns and modes
  *   - [[RandomOptions]]: the options, declared once
  *   - [[RandomOffset]]: the position in the stream and its JSON
  *   - [[RandomSource]]: driver side; finds the end of a batch and splits its rows into partitions
  *   - [[RandomReader]]: executor side; generates the rows of one partition
  *
  * [[RandomPlan]] and [[RandomStrings]] are specific to this source and consist of pure functions.
  *
  * Columns: `id BIGINT` counts from 0 without a gap; `value STRING` is random; `length BIGINT` is its length in
  * characters; `timestamp TIMESTAMP` grows with the id. None is ever NULL. A row is a pure function of its id and the
  * options: a replay gives the same rows.
  */
final class RandomProvider extends SourceProvider[RandomOptions](RandomOptions.group) {

  override protected def options(raw: Map[String, String]): Either[EpochalException, RandomOptions] =
    RandomOptions.read(raw)

  override protected def schema(options: RandomOptions): StructType = RandomProvider.schema

  override protected def table(schema: StructType, options: RandomOptions): Table = {
    requireSchema(RandomProvider.schema, schema)
    RandomProvider.table(options, Clock.systemUTC())
  }
}

object RandomProvider {

  val schema: StructType = new StructType()
    .add("id", LongType, nullable = false)
    .add("value", StringType, nullable = false)
    .add("length", LongType, nullable = false)
    .add("timestamp", TimestampType, nullable = false)

  private[random] def table(options: RandomOptions, clock: Clock): Table =
    new SourceTable(RandomOptions.Format, schema, () => () => new RandomScan(options, clock), continuous = true)
}

/** Scan of the table: a batch read, or the source of a stream. */
final private class RandomScan(options: RandomOptions, clock: Clock)
    extends SourceScan[RandomPosition](s"${RandomOptions.Format}[${options.source}]", RandomProvider.schema, clock) {

  override protected def batch: Batch = new RandomBatch(options, spark.defaultParallelism)

  override protected def source(checkpoint: InitialOffset): Source[RandomPosition] =
    new RandomSource(options, spark.defaultParallelism, clock)
}

/** Batch read of the first `maxRows` rows. */
final private class RandomBatch(options: RandomOptions, defaultPartitions: => Int) extends Batch {

  override def planInputPartitions(): Array[InputPartition] = {
    val rows = options.maxRows.getOrElse(
      throw OptionGroup.missing(RandomOptions.Format, RandomOptions.MaxRows, "a batch read must end"))
    val begin = options.begin(0)
    RandomPlan.slices(begin, begin.at(rows), options.numPartitions.getOrElse(defaultPartitions)).toArray
  }

  override def createReaderFactory(): PartitionReaderFactory = new RandomReaderFactory(options)
}
