package io.epochal.jdbc

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.write.{DataWriter, PhysicalWriteInfo, WriterCommitMessage}
import org.apache.spark.sql.streaming.OutputMode
import org.scalatest.concurrent.Eventually.{PatienceConfig, scaled}
import org.scalatest.time.{Millis, Seconds, Span}

import io.epochal.core.ledger.TriggerMode
import io.epochal.support.SlowTests
import io.epochal.testkit.Serialization

/** Continuous and real-time queries, with the test acting as the engine. What both have in common `make test` shows with one. */
abstract class FlushingJobs(databases: TestDatabases) extends SinkSuite(databases) with SlowTests {

  override protected def isSlow(test: String): Boolean =
    test.contains("real-time: ") && testNames(test.replace("real-time: ", "continuous: "))

  implicit protected val patience: PatienceConfig = PatienceConfig(scaled(Span(30, Seconds)), scaled(Span(5, Millis)))

  protected val both = Seq(TriggerMode.Continuous, TriggerMode.RealTime)
  protected val slow = Map("sinkId" -> "sink", "flushInterval" -> "1h")

  /** A job of one run: with the continuous trigger its tasks continue from epoch to epoch. */
  protected class Job(f: JdbcSinkFixture, val run: JdbcRun, trigger: TriggerMode, first: Long, partitions: Int = 2) {
    run.engine.epoch = first
    private val write = run.newWrite()
    private val factory = write.createStreamingWriterFactory(FlushingJobs.tasks(partitions))
    private val copies = (0 until partitions).map(_ => Serialization.copy(factory))
    private var epoch = first
    private var writers = IndexedSeq.empty[DataWriter[InternalRow]]
    begin()

    private def begin(): Unit = writers = copies.indices.map(p => copies(p).createWriter(p, p.toLong, epoch))

    def writer(partition: Int): DataWriter[InternalRow] = writers(partition)

    def anotherAttempt(partition: Int): DataWriter[InternalRow] =
      Serialization.copy(factory).createWriter(partition, 9L, epoch)

    def put(partition: Int, rows: Range): Unit = rows.foreach(n => writers(partition).write(f.row(n.toLong)))

    /** The tasks' part of an epoch's end: all rows are stored. */
    def flush(): IndexedSeq[WriterCommitMessage] = {
      val messages = writers.map(writer => Serialization.copy(writer.commit()))
      writers.foreach(_.close())
      messages
    }

    /** That, then the driver's. */
    def end(): Unit = {
      val messages = flush()
      if (trigger == TriggerMode.Continuous) f.logOffsets(epoch, s"""{"at":"$epoch"}""")
      write.commit(epoch, messages.toArray)
    }

    /** Spark has committed, and the same tasks begin the next epoch. */
    def next(): Unit = {
      epoch += 1
      begin()
    }

    /** Stops in the middle, like a stopped query. */
    def stop(): Unit = writers.foreach(_.close())
  }

  protected def job(
      f: JdbcSinkFixture,
      trigger: TriggerMode,
      first: Long,
      more: Map[String, String] = Map("sinkId" -> "sink"),
      partitions: Int = 2): Job =
    new Job(f, f.newRun(query, more, OutputMode.Update, trigger), trigger, first, partitions)

  protected def logged(f: JdbcSinkFixture, trigger: TriggerMode, epoch: Long): Unit =
    if (trigger == TriggerMode.RealTime) f.logOffsets(epoch, s"""{"at":"$epoch"}""")
}

private object FlushingJobs {
  def tasks(count: Int): PhysicalWriteInfo = () => count
}
