package io.epochal.testkit

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.types.StructType

import io.epochal.testkit.report.Evidence

/** The tasks of a continuous query, as far as they were run.
  *
  * @param rows
  *   of each task, in order
  */
final private[testkit] case class EndlessTasks(start: Offset, rows: Seq[Seq[Seq[Any]]], end: Offset)

private[testkit] object EndlessTasks {
  private val DeadlineMillis = 60000L

  /** Without a row for so long after the first one, there are no more. */
  private val QuietMillis = 5000L

  /** Runs the tasks after an offset until each has delivered `most` rows, all of them `total`, or no more arrive.
    *
    * @param start
    *   None: the first offset
    */
  def read(stream: ContinuousStream, schema: StructType, start: Option[Offset], most: Int, total: Int): EndlessTasks = {
    val begin = start.getOrElse(stream.initialOffset())
    val partitions = stream.planInputPartitions(begin).toSeq
    val factory = stream.createContinuousReaderFactory()
    val tasks =
      partitions.map(partition => new Task(() => factory.createReader(Serialization.copy(partition)), schema, most))
    tasks.foreach(_.start())
    var (found, deadline) = (0, System.nanoTime() + DeadlineMillis * 1000000L)
    while (System.nanoTime() < deadline && tasks.exists(_.isAlive) && found < total) {
      Thread.sleep(5)
      val now = tasks.map(_.count).sum
      if (now > found) deadline = System.nanoTime() + QuietMillis * 1000000L
      found = now
    }
    tasks.foreach(_.interrupt())
    tasks.foreach(_.join(DeadlineMillis))
    tasks.flatMap(_.failure).headOption.foreach(error => Evidence.broken("a task failed", error))
    EndlessTasks(begin, tasks.map(_.rows), stream.mergeOffsets(tasks.map(_.offset).toArray))
  }

  final private class Task(open: () => ContinuousPartitionReader[InternalRow], schema: StructType, most: Int)
      extends Thread("epochal-testkit-task") {
    setDaemon(true)
    private val buffer = mutable.Buffer.empty[Seq[Any]]
    private var at: PartitionOffset = _
    private var error = Option.empty[Throwable]

    def count: Int = synchronized(buffer.size)
    def rows: Seq[Seq[Any]] = synchronized(buffer.toVector)
    def offset: PartitionOffset = synchronized(at)
    def failure: Option[Throwable] = synchronized(error)

    override def run(): Unit =
      try {
        val reader = open()
        try {
          synchronized { at = reader.getOffset }
          while (count < most && reader.next()) synchronized {
            buffer += reader.get().copy().toSeq(schema)
            at = reader.getOffset
          }
        } finally reader.close()
      } catch {
        case _: InterruptedException             => ()
        case NonFatal(_) if Thread.interrupted() => ()
        case NonFatal(caught)                    => synchronized { error = Some(caught) }
      }
  }
}
