package io.epochal.kit.spark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.test.QuerySuite

import io.epochal.core.error.Conditions
import io.epochal.core.ledger.TriggerMode

final class RunningQuerySuite extends QuerySuite {

  test("every trigger is recognised") {
    val expected = Seq(
      Trigger.ProcessingTime(0) -> TriggerMode.MicroBatch,
      Trigger.AvailableNow() -> TriggerMode.MicroBatch,
      Trigger.Continuous(1000) -> TriggerMode.Continuous,
      Trigger.RealTime(5000) -> TriggerMode.RealTime)
    expected.foreach { case (trigger, mode) => assert(RunningQuery.triggerMode(trigger) == mode, trigger) }
  }

  test("the query of this thread gets a message in its status; without a query nothing happens") {
    var messages = Seq.empty[String]
    RunningQuery.messageOfThisThread()("nobody")
    val query = spark.readStream
      .format("rate-micro-batch")
      .option("rowsPerBatch", 1)
      .load()
      .writeStream
      .trigger(Trigger.AvailableNow())
      .foreachBatch { (_: DataFrame, _: Long) =>
        RunningQuery.messageOfThisThread()("12 requests so far")
        messages = spark.streams.active.toSeq.map(_.status.message)
      }
      .start()
    try query.awaitTermination()
    finally query.stop()
    assert(messages == Seq("12 requests so far"))
  }

  test("a running query is found by its id, from any session, and no other is") {
    withTempDir { checkpoint =>
      val query = spark
        .newSession()
        .readStream
        .format("rate")
        .load()
        .writeStream
        .format("noop")
        .option("checkpointLocation", checkpoint.getPath)
        .start()
      try {
        val found = RunningQuery.find(query.id.toString).fold(throw _, identity)
        assert(found.runId == query.runId.toString && found.checkpoint.endsWith(checkpoint.getName))
        assert(
          RunningQuery.find(query.runId.toString).left.map(_.condition.name) == Left(Conditions.QueryNotFound.name))
      } finally query.stop()
    }
  }
}
