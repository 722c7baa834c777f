package io.epochal.rest.sink

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory
import org.apache.spark.sql.connector.write.{DataWriter, DataWriterFactory, WriterCommitMessage}

import io.epochal.core.error.Plural
import io.epochal.kit.engine.RowJson
import io.epochal.kit.engine.memory.BinaryRow
import io.epochal.rest.http.request.{HttpCounters, HttpShare}

/** What idempotency keys begin with.
  *
  * @param sink
  *   `sinkId`, else the query's id
  * @param everyEpoch
  *   whether rows of the same key columns come again in other epochs, with other values
  */
final private[rest] case class KeyScope(sink: String, everyEpoch: Boolean)

/** Travels to the tasks.
  *
  * @param shares
  *   of the query's budget, one for each task that runs at a time
  * @param reached
  *   whether the server has responded to this query before
  */
final private[rest] class RestWriterFactory(
    settings: RestSinkSettings,
    shape: RequestShape,
    scope: KeyScope,
    shares: Array[HttpShare],
    reached: Boolean
) extends StreamingDataWriterFactory
    with DataWriterFactory {

  override def createWriter(partition: Int, taskId: Long, epoch: Long): DataWriter[InternalRow] =
    writer(partition, epoch.toString)

  override def createWriter(partition: Int, taskId: Long): DataWriter[InternalRow] =
    writer(partition, RestWriterFactory.Batch)

  private def writer(partition: Int, epoch: String): RestWriter =
    new RestWriter(settings, shape, scope, partition, epoch, shares(partition % shares.length), reached)
}

private[rest] object RestWriterFactory {

  /** What a batch has in place of an epoch's number. */
  val Batch = "batch"
}

/** One attempt of one task: sends rows as soon as they fill a request. What it has sent stays sent when the attempt fails;
  * the next one sends the same requests under the same keys.
  */
final private class RestWriter(
    settings: RestSinkSettings,
    shape: RequestShape,
    scope: KeyScope,
    partition: Int,
    epoch: String,
    share: HttpShare,
    reached: Boolean
) extends DataWriter[InternalRow] {

  private val counters = new HttpCounters
  private val sender = new RowSender(settings, counters, share, reached)
  private val keepWhole = settings.deadLetters.isDefined
  private val unsafe = BinaryRow.converter(shape.schema)
  private val encoder = new RowEncoder(shape, settings.ignoreNullFields)
  private val batch = new RequestBatch(keepWhole)
  private val refused = new RefusedRows(settings.deadLetters.map(_.limit), partition, epoch, settings.place)
  private lazy val json = new RowJson(shape.schema)
  private val columnsHead =
    IdempotencyKey.byColumns(scope.sink, Option.when(scope.everyEpoch)(epoch))
  private val lingers = settings.batch.linger.isDefined
  private val lingerNanos = settings.batch.linger.fold(Long.MaxValue)(_.toNanos)
  private var urlValues = Seq.empty[String]
  private var begun = 0L
  private var rows = 0L

  override def write(record: InternalRow): Unit = {
    val row = unsafe(record)
    rows += 1
    try {
      encoder.encode(row, keepWhole)
      val values = encoder.urlValues(row)
      if (batch.rows > 0 && batch.bytes + encoder.sent.length > settings.batch.bytes) send()
      if (lingers && batch.rows == 0) begun = System.nanoTime()
      batch.add(encoder, rows - 1)
      urlValues = values
    } catch { case unsendable: UnsendableRow => refused.add(rows, "", unsendable.reason, json(row)) }
    if (batch.rows == settings.batch.rows || lingers && waited) send()
  }

  override def commit(): WriterCommitMessage = {
    if (batch.rows > 0) send()
    RestTaskMessage(partition, rows, sender.sentBytes, counters.value, refused.result())
  }

  override def currentMetricsValues(): Array[CustomTaskMetric] =
    RestTaskMetrics.values(rows, sender.sentBytes, counters.value)

  override def abort(): Unit = ()
  override def close(): Unit = sender.close()

  private def waited: Boolean = batch.rows > 0 && System.nanoTime() - begun >= lingerNanos

  private def send(): Unit = {
    try
      sender.send(batch, settings.url.target(urlValues), key) { (row, key, reason) =>
        refused.add(batch.place(row) + 1, key, reason, batch.wholeRow(row))
      }
    catch {
      case left: RowsLeft =>
        val reason = s"${left.reason} (${Plural.of(left.attempts.toLong, "attempt")})"
        throw RefusedRows.refused(partition, batch.place(left.first) + 1, epoch, settings.place, reason)
    }
    batch.clear()
  }

  private def key: String =
    if (!settings.keys.sent) ""
    else if (shape.keys.nonEmpty) batch.keyByColumns(columnsHead)
    else
      batch.keyByPlace(IdempotencyKey.byPlace(scope.sink, epoch, partition, batch.place(0), batch.rows, urlValues))
}
