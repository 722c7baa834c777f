package io.epochal.support

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.apache.spark.sql.test.QuerySuite
import org.scalatest.time.{Millis, Minutes, Span}

/** Runs queries whose rows [[Collected]] keeps. */
trait CollectedQueries extends QuerySuite {

  final protected def start(
      rows: DataFrame,
      name: String,
      checkpoint: String,
      trigger: Trigger = Trigger.ProcessingTime(0)): StreamingQuery =
    rows.writeStream
      .foreach(new Collecting(name))
      .queryName(name)
      .option("checkpointLocation", checkpoint)
      .trigger(trigger)
      .outputMode("append")
      .start()

  /** Waits until the claim holds; fails if the query ends. */
  final protected def until(query: StreamingQuery)(claim: => Any): Unit = {
    eventually(timeout(Span(5, Minutes)), interval(Span(20, Millis)))(if (query.exception.isEmpty) { claim; () })
    query.exception.foreach(throw _)
  }

  final protected def stopped(query: StreamingQuery)(body: => Any): Unit =
    try { body; () }
    finally query.stop()
}
