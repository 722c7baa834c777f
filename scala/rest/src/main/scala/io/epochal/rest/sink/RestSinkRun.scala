package io.epochal.rest.sink

import org.apache.spark.sql.connector.write.WriterCommitMessage

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.sink.Messages
import io.epochal.kit.spark.SinkEngine

/** What a sink asks of the engine about the query above it. */
private[rest] trait QueryPlan {

  /** What keeps the order of the query's rows from being repeatable; None when nothing is known to. */
  def hindrance(queryId: String): Either[EpochalException, Option[String]]

  /** The epoch that the calling thread is at. */
  def currentEpoch: Option[Long]

  /** How many tasks can run at a time. */
  def parallelism: Int
}

/** One query, from its start to its end, or one batch write.
  *
  * @param queryId
  *   stays the same over restarts; a batch has one of its own
  */
final private[rest] class RestSinkRun(
    val settings: RestSinkSettings,
    val shape: RequestShape,
    val queryId: String,
    val engine: SinkEngine,
    plan: QueryPlan,
    metrics: RestSinkMetrics
) {
  private val sink = settings.keys.sinkId.getOrElse(queryId)
  private lazy val order = plan.hindrance(queryId).fold(throw _, identity)
  @volatile private var reached = false
  private var held: EpochPartitions = _

  /** Whether rows are dealt out and sorted by their key columns. */
  def sortsByKeys: Boolean = settings.keys.sent && shape.keys.nonEmpty && settings.batch.rows > 1

  /** Shows the metrics of the sink in Spark's metrics system; called by every epoch. */
  def show(): Unit = metrics.show(settings.keys.sinkId.getOrElse(RestSinkOptions.Format))

  def checkOrder(): Unit =
    order.foreach(what => throw Conditions.OrderNotRepeatable("format" -> RestSinkOptions.Format, "operator" -> what))

  /** An epoch that was begun before must be cut into the same requests, and they must be named alike. */
  def hold(checkpoint: String, partitions: Int): Unit = plan.currentEpoch.foreach { epoch =>
    if (held == null) held = new EpochPartitions(checkpoint, engine.hadoop)
    metrics.begun(held.hold(epoch, requests(partitions)))
  }

  /** What the keys of an epoch follow from, beside its rows. */
  private def requests(partitions: Int): String = {
    val cut = s"$partitions partitions, batchSize=${settings.batch.rows}, batchBytes=${settings.batch.bytes}"
    val columns = s"sinkId=$sink, keyColumns=${shape.keys.map(_.field.name).mkString(", ")}"
    if (shape.keys.isEmpty) cut else if (sortsByKeys) s"$cut, $columns" else s"one row a request, $columns"
  }

  /** @param partitions
    *   of the epoch, or of the batch
    */
  def factory(everyEpoch: Boolean, partitions: Int): RestWriterFactory = {
    val budget = settings.http.politeness.budget
    val atATime = budget.tasks(math.max(1, math.min(partitions, plan.parallelism)))
    val shares = budget.shares(atATime).toArray
    // A new query under the sinkId of another counts its epochs from 0 again: a row's place there is another place.
    val scope = KeyScope(if (shape.keys.isEmpty) queryId else sink, everyEpoch)
    new RestWriterFactory(settings, shape, scope, shares, reached)
  }

  /** All rows are settled.
    *
    * @param epoch
    *   its number, or `batch`
    */
  def committed(epoch: String, messages: Array[WriterCommitMessage]): Unit = {
    val sent = Messages.of[RestTaskMessage](messages)
    reached ||= sent.exists(_.rows > 0)
    val refused = sent.sortBy(_.partition).flatMap(_.refused)
    settings.deadLetters.foreach { letters =>
      if (refused.size > letters.limit)
        throw RefusedRows.tooMany(epoch, s"maxBadRows=${letters.limit}", refused.head)
      new DeadLetterFiles(letters.path, engine.hadoop).replace(queryId, epoch, sink, refused)
    }
    metrics.committed(epoch, sent)
  }
}
