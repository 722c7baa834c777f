package io.epochal.rest.sink

import java.time.Duration
import java.util.concurrent.locks.ReentrantLock
import java.util.concurrent.{Future, ScheduledThreadPoolExecutor, TimeUnit}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory
import org.apache.spark.sql.connector.write.{DataWriter, DataWriterFactory, WriterCommitMessage}

import io.epochal.core.error.Plural
import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.spark.RejectedRowJson
import io.epochal.kit.spark.memory.BinaryRow
import io.epochal.rest.http.{HttpBudget, HttpCounters}

/** The beginning of idempotency keys.
  *
  * @param sink
  *   `sinkId`, else the query's id
  * @param everyEpoch
  *   whether rows of the same key columns recur in other epochs, with other values
  */
final private[rest] case class KeyScope(sink: String, everyEpoch: Boolean)

/** Serialized to the tasks.
  *
  * @param shares
  *   of the query's budget, one per concurrent task
  * @param hasResponded
  *   whether the server has responded to this query before
  */
final private[rest] class RestWriterFactory(
    settings: RestSinkSettings,
    shape: RequestShape,
    scope: KeyScope,
    shares: Array[HttpBudget],
    hasResponded: Boolean
) extends StreamingDataWriterFactory
    with DataWriterFactory {

  override def createWriter(partition: Int, taskId: Long, epoch: Long): DataWriter[InternalRow] =
    writer(partition, epoch.toString)

  override def createWriter(partition: Int, taskId: Long): DataWriter[InternalRow] =
    writer(partition, RestWriterFactory.Batch)

  private def writer(partition: Int, epoch: String): RestWriter =
    new RestWriter(
      settings,
      shape,
      scope,
      partition,
      epoch,
      shares(partition % shares.length),
      hasResponded,
      settings.flushInterval.map(new FlushTimer(_)))
}

private[rest] object RestWriterFactory {

  /** A batch's epoch. */
  val Batch = "batch"
}

/** One attempt of one task: sends rows as soon as they fill a request or have waited for `flushInterval`. Sent rows stay
  * sent if the attempt fails; the next attempt sends the same requests under the same keys (without `flushInterval`).
  *
  * @param timer
  *   limits a request's wait for more rows; None: no limit
  */
final private[rest] class RestWriter(
    settings: RestSinkSettings,
    shape: RequestShape,
    scope: KeyScope,
    partition: Int,
    epoch: String,
    share: HttpBudget,
    hasResponded: Boolean,
    timer: Option[FlushTimer]
) extends DataWriter[InternalRow] {

  private val counters = new HttpCounters
  private val sender = new RowSender(settings, counters, share, hasResponded)
  private val keepWhole = settings.deadLetters.isDefined
  private val unsafe = BinaryRow.converter(shape.schema)
  private val encoder = new JsonRowEncoder(shape, settings.ignoreNullFields)
  private val targets = new RowTargets(shape)
  private val batch = new RequestBatch(keepWhole)
  private val refusals = new RefusedRows(settings.deadLetters.map(_.limit), partition, epoch, settings.place)
  private lazy val json = new RejectedRowJson(shape.schema)
  private val columnsHead =
    IdempotencyKey.byColumns(scope.sink, Option.when(scope.everyEpoch)(epoch))
  private val flush = timer.map(new TimedFlush(_, () => send()))
  private var target = RowTarget(deletes = false, Nil, Nil)
  private var rows = 0L

  override def write(record: InternalRow): Unit = {
    val row = unsafe(record)
    rows += 1
    try {
      val change = encoder.encode(row, keepWhole)
      if (change != RowEffect.Ignores) {
        val to = targets.of(row, change)
        exclusively(add(to, deletes = change == RowEffect.Deletes))
      }
    } catch {
      case unsendable: UnsendableRow => exclusively(refusals.add(rows, "", unsendable.reason, json(row)))
    }
  }

  override def commit(): WriterCommitMessage = exclusively {
    if (batch.rows > 0) send()
    RestTaskMessage(partition, rows, sender.sentBytes, counters.value, refusals.result())
  }

  override def currentMetricsValues(): Array[CustomTaskMetric] =
    RestSinkMetric.values(rows, sender.sentBytes, counters.value)

  override def abort(): Unit = ()
  override def close(): Unit = {
    flush.foreach(_.close())
    sender.close()
  }

  /** Locks out the timer's thread, which shares the request and the rejected rows. */
  private def exclusively[A](body: => A): A = if (flush.isEmpty) body else flush.get.exclusively(body)

  /** Adds the row that was encoded last. */
  private def add(to: RowTarget, deletes: Boolean): Unit = {
    if (batch.rows > 0 && batch.bytes + encoder.sentRow.length > settings.batchBytes) send()
    if (batch.rows == 0) flush.foreach(_.onFirstRow())
    batch.add(encoder, rows - 1, deletes)
    target = to
    if (batch.rows == settings.batchSize) send()
  }

  private def send(): Unit = {
    try
      sender.send(batch, target, key) { (row, key, reason) =>
        refusals.add(batch.place(row) + 1, key, reason, batch.wholeRow(row))
      }
    catch {
      case left: RowsLeft =>
        val reason = s"${left.reason} (${Plural.of(left.attempts.toLong, "attempt")})"
        throw RefusedRows.refusal(partition, batch.place(left.first) + 1, epoch, settings.place, reason)
    }
    batch.clear()
    flush.foreach(_.onSend())
  }

  private def key: String =
    if (!settings.keyed) ""
    else if (shape.keys.nonEmpty) batch.keyByColumns(columnsHead)
    else
      batch.keyByPlace(IdempotencyKey.byPlace(scope.sink, epoch, partition, batch.place(0), batch.rows, target.values))
}

/** Runs one task after an interval, in its own thread, which begins with the first `start`. */
private[rest] class FlushTimer(interval: Duration) extends AutoCloseable {
  private val executor = new ScheduledThreadPoolExecutor(1, new DaemonThreads("epochal-rest-flush"))
  executor.setRemoveOnCancelPolicy(true)
  private var next = Option.empty[Future[_]]

  /** Schedules `flush` after the interval, in place of a pending one. */
  def start(flush: Runnable): Unit = {
    stop()
    next = Some(executor.schedule(flush, interval.toNanos, TimeUnit.NANOSECONDS))
  }

  /** Cancels the pending task. */
  def stop(): Unit = {
    next.foreach(_.cancel(false))
    next = None
  }

  /** Interrupts a running task. */
  override def close(): Unit = executor.shutdownNow(): Unit
}

/** Sends a request that has waited long enough for more rows, in the timer's thread: it does not depend on a next row.
  *
  * The task and the timer share the request. The task accesses it only in `exclusively`, and waits there while the
  * timer's thread sends. If that thread fails, the next `exclusively` throws its error: it fails the task's next row, or
  * its commit.
  *
  * @param send
  *   sends the pending rows
  */
final private[rest] class TimedFlush(timer: FlushTimer, send: () => Unit) extends AutoCloseable {
  private val lock = new ReentrantLock

  /** The number of requests sent so far. */
  private var request = 0L
  private var failure = Option.empty[Throwable]
  @volatile private var closed = false

  /** Runs `body` under the lock. A task that is killed while it waits throws InterruptedException. */
  def exclusively[A](body: => A): A = {
    lock.lockInterruptibly()
    try {
      failure.foreach(throw _)
      body
    } finally lock.unlock()
  }

  /** Called in `exclusively` when a request has its first row. */
  def onFirstRow(): Unit = {
    val mine = request
    timer.start(() => flush(mine))
  }

  /** Called in `exclusively` once the request was sent. */
  def onSend(): Unit = {
    request += 1
    timer.stop()
  }

  /** Interrupts a request that the timer's thread is sending; nothing is sent afterwards. */
  override def close(): Unit = {
    closed = true
    timer.close()
  }

  private def flush(number: Long): Unit = {
    lock.lock()
    try if (number == request && failure.isEmpty && !closed) send()
    catch { case error: Throwable => failure = Some(error) }
    finally lock.unlock()
  }
}
