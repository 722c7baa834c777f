package io.epochal.kit.source

import java.time.Duration

import org.apache.spark.sql.connector.read.streaming._

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionValues, SourceOptions}

/** Spark's limits on the part of a backlog that one micro-batch takes. */
object ReadLimits {

  /** The limit that the options set, with one of the source's own. */
  def of(values: OptionValues, own: Option[ReadLimit] = None): ReadLimit = {
    val most = values.get(SourceOptions.MaxRowsPerBatch).map(ReadLimit.maxRows(_))
    val least = values
      .get(SourceOptions.MinRowsPerBatch)
      .map(ReadLimit.minRows(_, values(SourceOptions.MaxBatchDelay).toMillis))
    (most ++ least ++ own).toArray match {
      case Array()     => ReadLimit.allAvailable()
      case Array(only) => only
      case several     => ReadLimit.compositeLimit(several)
    }
  }

  /** The error for a minimum that no batch can have. */
  private[source] def refused(values: OptionValues): Option[EpochalException] =
    for {
      most <- values.get(SourceOptions.MaxRowsPerBatch)
      least <- values.get(SourceOptions.MinRowsPerBatch) if least > most
    } yield values.conflict(
      s"{option:minRowsPerBatch=$least}, {option:maxRowsPerBatch=$most}",
      s"Set {option:minRowsPerBatch=$most}: a batch of so few rows would wait for {option:maxBatchDelay}.")

  /** The maximum number of rows that a limit can admit. A source that sends requests requests no more. */
  def ceiling(limit: ReadLimit): Long = limit match {
    case max: ReadMaxRows        => max.maxRows
    case all: CompositeReadLimit => all.getReadLimits.map(ceiling).minOption.getOrElse(Long.MaxValue)
    case _                       => Long.MaxValue
  }

  /** The number of rows to take now: 0 if there are none, or while a minimum waits. A limit that counts something else (files)
    * admits everything, and one in bytes at least one row: it never blocks a query.
    *
    * @param rows
    *   that are available
    * @param rowsWithin
    *   as in [[Supply]]
    * @param waited
    *   since the last batch with rows was planned; before the first one, since the query started
    */
  def admit(limit: ReadLimit, rows: Long, rowsWithin: Long => Long, waited: Duration): Long = limit match {
    case max: ReadMaxRows        => math.min(max.maxRows, rows)
    case max: ReadMaxBytes       => math.min(rows, math.max(1L, rowsWithin(max.maxBytes)))
    case min: ReadMinRows        => if (rows >= min.minRows || waited.toMillis >= min.maxTriggerDelayMs) rows else 0L
    case all: CompositeReadLimit => all.getReadLimits.map(admit(_, rows, rowsWithin, waited)).minOption.getOrElse(rows)
    case _                       => rows
  }
}
