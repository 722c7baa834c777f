package io.epochal.kit

/** The one place that touches classes which Spark does not promise to keep. */
package object engine {

  /** Spark's row in one block of memory. */
  type UnsafeRow = org.apache.spark.sql.catalyst.expressions.UnsafeRow
}
