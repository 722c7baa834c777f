package io.epochal.kit.source

import java.time.Duration

import org.apache.spark.sql.connector.read.streaming.{
  CompositeReadLimit,
  ReadAllAvailable,
  ReadLimit => SparkReadLimit,
  ReadMaxBytes,
  ReadMaxRows,
  ReadMinRows
}

import io.epochal.core.limit.ReadLimit

/** Between Spark's read limits and ours. */
object ReadLimits {

  def toSpark(limit: ReadLimit): SparkReadLimit = limit match {
    case ReadLimit.Unlimited            => SparkReadLimit.allAvailable()
    case ReadLimit.MaxRows(rows)        => SparkReadLimit.maxRows(rows)
    case ReadLimit.MinRows(rows, delay) => SparkReadLimit.minRows(rows, delay.toMillis)
    case ReadLimit.MaxBytes(bytes)      => SparkReadLimit.maxBytes(bytes)
    case ReadLimit.Composite(limits)    => SparkReadLimit.compositeLimit(limits.map(toSpark).toArray)
  }

  /** A kind of limit that counts something else (files) lets everything in. */
  def fromSpark(limit: SparkReadLimit): ReadLimit = limit match {
    case _: ReadAllAvailable           => ReadLimit.Unlimited
    case max: ReadMaxRows              => ReadLimit.MaxRows(max.maxRows)
    case min: ReadMinRows              => ReadLimit.MinRows(min.minRows, Duration.ofMillis(min.maxTriggerDelayMs))
    case max: ReadMaxBytes             => ReadLimit.MaxBytes(max.maxBytes)
    case composite: CompositeReadLimit => ReadLimit.all(composite.getReadLimits.toSeq.map(fromSpark))
    case _                             => ReadLimit.Unlimited
  }
}
