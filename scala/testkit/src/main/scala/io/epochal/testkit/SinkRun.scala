package io.epochal.testkit

import org.apache.spark.sql.connector.write.streaming.StreamingWrite

/** One run of a query, from start to stop. */
trait SinkRun {

  /** Creates the write of a micro-batch. Spark creates a new one for each. */
  def newWrite(): StreamingWrite
}
