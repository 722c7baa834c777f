package io.epochal.rest.sink

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.NoSuchFileException

import scala.util.{Try, Using}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.connector.distributions.{Distribution, Distributions}
import org.apache.spark.sql.connector.expressions.{Expression, Expressions, NamedReference, SortDirection, SortOrder}
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.streaming.OutputMode

import io.epochal.core.error.Conditions
import io.epochal.kit.sink.{Messages, MicroBatches}
import io.epochal.kit.spark.{EveryOutputMode, QueryStop, SinkEngine}
import io.epochal.kit.store.HadoopFileStore

/** Spark creates one for every micro-batch, so one-time work does not belong here. */
final private[rest] class RestWriteBuilder(run: RestSinkRun) extends EveryOutputMode {

  override def truncate(): WriteBuilder = throw RestSinkOptions.group.unsupported(
    "replace what the API holds",
    "output mode complete, and a batch in overwrite mode, send all rows that there are to be, and an API cannot be emptied",
    "Use output mode append or update, or a batch in append mode."
  )

  override def build(): Write = if (run.sortsByKeys) new SortedRestWrite(run) else new RestWrite(run)
}

/** The driver's part of one micro-batch, or of a batch. Tasks send rows before the driver's commit, so nothing can be
  * rolled back. Concurrent attempts of a task are not coordinated: they send the same requests under the same keys.
  *
  * A batch has no epoch that identifies it: its keys hold only for its own attempts, unless they are made of columns
  * under a `sinkId`.
  */
private class RestWrite(run: RestSinkRun) extends Write with StreamingWrite with BatchWrite {
  import run.settings

  private lazy val query = run.engine.runningQuery(run.queryId).fold(throw _, identity)

  override def description(): String = s"${RestSinkOptions.Format} ${settings.place}"
  override def toString: String = description()
  override def toStreaming: StreamingWrite = this
  override def toBatch: BatchWrite = this
  override def supportedCustomMetrics(): Array[CustomMetric] = RestSinkMetric.customMetrics
  override def useCommitCoordinator(): Boolean = false

  /** Called before any task runs. */
  override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory = QueryStop.guard {
    MicroBatches.refused(RestSinkOptions.Format, query.trigger).foreach(throw _)
    if (settings.keyed && run.shape.keys.isEmpty) run.checkOrder()
    run.show()
    if (settings.keyed) run.hold(query.checkpoint, info.numPartitions)
    run.factory(everyEpoch = query.outputMode != OutputMode.Append, info.numPartitions)
  }

  override def createBatchWriterFactory(info: PhysicalWriteInfo): DataWriterFactory = {
    if (settings.sinkId.isDefined && run.shape.keys.isEmpty)
      throw RestSinkOptions.group.unsupported(
        "write a batch under a {option:sinkId} without {option:keyColumns}",
        "the rows of two batches would have the same positions, and so the same keys",
        "Set {option:keyColumns}, or leave {option:sinkId} out.")
    run.factory(everyEpoch = false, info.numPartitions)
  }

  override def commit(epoch: Long, messages: Array[WriterCommitMessage]): Unit =
    QueryStop.guard(run.onCommit(epoch.toString, messages))

  override def commit(messages: Array[WriterCommitMessage]): Unit =
    QueryStop.guard(run.onCommit(RestWriterFactory.Batch, messages))

  override def abort(epoch: Long, messages: Array[WriterCommitMessage]): Unit = ()
  override def abort(messages: Array[WriterCommitMessage]): Unit = ()
}

/** Requests of several rows whose keys are made of columns: Spark clusters the rows by these columns into a fixed number
  * of tasks and sorts them, so that an epoch's rows make the same requests in any order and partitioning. The changes of a
  * row are in one task, in the order of their versions.
  */
final private class SortedRestWrite(run: RestSinkRun) extends RestWrite(run) with RequiresDistributionAndOrdering {

  private val keys = columns(run.shape.keys)

  private def columns(list: Seq[NamedColumn]): Array[NamedReference] =
    list.map(key => Expressions.column(s"`${key.field.name.replace("`", "``")}`")).toArray

  override def requiredDistribution(): Distribution =
    Distributions.clustered(columns(run.shape.entity).map(key => key: Expression))
  override def requiredNumPartitions(): Int = run.settings.values(RestSinkOptions.NumPartitions)
  override def requiredOrdering(): Array[SortOrder] = keys.map(Expressions.sort(_, SortDirection.ASCENDING))
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
  private val sink = settings.sinkId.getOrElse(queryId)
  private lazy val order = plan.hindrance(queryId).fold(throw _, identity)
  @volatile private var hasResponded = false
  private var epochPartitions: EpochPartitions = _

  /** Whether rows are clustered and sorted by their key columns. */
  def sortsByKeys: Boolean = settings.keyed && shape.keys.nonEmpty && settings.batchSize > 1

  /** Registers the sink's gauges in Spark's metrics system; called in every epoch. */
  def show(): Unit = metrics.show(settings.sinkId.getOrElse(RestSinkOptions.Format))

  def checkOrder(): Unit =
    order.foreach(what => throw Conditions.OrderNotRepeatable("format" -> RestSinkOptions.Format, "operator" -> what))

  /** Checks that a replayed epoch is cut into the same requests, with the same keys. */
  def hold(checkpoint: String, partitions: Int): Unit = plan.currentEpoch.foreach { epoch =>
    if (epochPartitions == null) epochPartitions = new EpochPartitions(checkpoint, engine.hadoop)
    metrics.onBegin(epochPartitions.hold(epoch, requests(partitions)))
  }

  /** Everything besides an epoch's rows that decides its keys. */
  private def requests(partitions: Int): String = {
    val cut = s"$partitions partitions, batchSize=${settings.batchSize}, batchBytes=${settings.batchBytes}"
    val columns = s"sinkId=$sink, keyColumns=${shape.keys.map(_.field.name).mkString(", ")}"
    if (shape.keys.isEmpty) cut else if (sortsByKeys) s"$cut, $columns" else s"one row a request, $columns"
  }

  /** @param partitions
    *   of the epoch, or of the batch
    */
  def factory(everyEpoch: Boolean, partitions: Int): RestWriterFactory = {
    val budget = settings.http.budget
    val atATime = budget.tasks(math.max(1, math.min(partitions, plan.parallelism)))
    val shares = budget.shares(atATime).toArray
    // A new query under another's sinkId restarts its epochs at 0, so a row's position does not identify it there.
    val scope = KeyScope(if (shape.keys.isEmpty) queryId else sink, everyEpoch)
    new RestWriterFactory(settings, shape, scope, shares, hasResponded)
  }

  /** Called once each row is accepted or rejected.
    *
    * @param epoch
    *   its number, or `batch`
    */
  def onCommit(epoch: String, messages: Array[WriterCommitMessage]): Unit = {
    val taskMessages = Messages.of[RestTaskMessage](messages)
    hasResponded ||= taskMessages.exists(_.rows > 0)
    val refusals = taskMessages.sortBy(_.partition).flatMap(_.refusedRows)
    settings.deadLetters.foreach { letters =>
      if (refusals.size > letters.limit)
        throw RefusedRows.tooMany(epoch, s"{option:maxBadRows=${letters.limit}}", refusals.head)
      new DeadLetterFiles(letters.path, engine.hadoop).replace(queryId, epoch, sink, refusals)
    }
    metrics.onCommit(epoch, taskMessages)
  }
}

/** Records how an epoch's rows were partitioned when first sent: `epochal-rest/<epoch>` in the query's checkpoint, which
  * holds one line, `{"v":1,"requests":"…"}`.
  *
  * Spark replays an epoch with the same rows, but not always in as many partitions (the number of cores decides), and it
  * does not know the options that cut rows into requests or name them. Any such change gives rows other keys, so the
  * first attempt writes down its partitioning before anything is sent, and a replay must match it.
  *
  * The file counts if and only if the line is complete: a partial line, left by a driver that died while writing, stands
  * for an epoch for which nothing was sent.
  *
  * @param checkpoint
  *   the query's
  */
final private[rest] class EpochPartitions(checkpoint: String, hadoop: => Configuration) {
  private val Directory = "epochal-rest"

  /** More than the epochs that Spark may replay. */
  final private val Kept = 100L

  private val Line = """\{"v":1,"requests":"(.*)"\}\n""".r

  private lazy val store = new HadoopFileStore(new Path(checkpoint, Directory).toString, hadoop)
  private var last = Option.empty[Long]

  /** @param requests
    *   everything that decides how rows are cut into requests
    * @return
    *   whether the epoch had begun before
    * @throws EpochalException
    *   EPOCH_PARTITIONING_CHANGED if it had begun with other `requests`
    */
  def hold(epoch: Long, requests: String): Boolean = {
    val line = s"""{"v":1,"requests":${Template.quote(requests)}}\n"""
    val file = epoch.toString
    // Epochs of a run are consecutive; only its first one can be a replay.
    val known = if (last.exists(_ < epoch)) None else read(file)
    known.filter(_ != line).foreach { other =>
      val Line(previous) = other: @unchecked
      throw Conditions.EpochPartitioningChanged("epoch" -> epoch, "known" -> previous, "found" -> requests)
    }
    if (known.isEmpty) {
      store.delete(file) // A partial line, or that of an epoch before the checkpoint was rewound.
      val bytes = line.getBytes(UTF_8)
      Using.resource(store.create(file))(_.write(bytes, 0, bytes.length))
      if (epoch >= Kept) { Try(store.delete((epoch - Kept).toString)): Unit } // A failure only leaves a file behind.
    }
    last = Some(epoch)
    known.nonEmpty
  }

  private def read(file: String): Option[String] =
    try Option(new String(store.content(file), UTF_8)).filter(Line.matches)
    catch { case _: NoSuchFileException => None }
}
