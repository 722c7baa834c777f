package io.epochal.kit.sink

import java.util

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.reflect.ClassTag
import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.sql.connector.catalog.{Column, SupportsWrite, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.streaming.ReportsSinkMetrics
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder, WriterCommitMessage}
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.StructType
import org.slf4j.{Logger, LoggerFactory}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.ledger.{Claim, LedgerRow}
import io.epochal.core.option.OptionGroup
import io.epochal.kit.access.PlanRedaction
import io.epochal.kit.sink.transport.RowFiles
import io.epochal.kit.spark.{ClaimingSink, SinkEngine}

/** The entry point that Spark finds by a sink's format: parses and checks the options before a query starts, and hides the
  * secret ones.
  *
  * @tparam O
  *   the options, checked
  */
abstract class SinkProvider[O](val group: OptionGroup) extends TableProvider with DataSourceRegister {

  protected def options(raw: Map[String, String]): Either[EpochalException, O]

  /** The target for rows with these columns; rejects what cannot work. */
  protected def table(schema: StructType, options: O): Table

  /** Why rows cannot be partitioned, and the alternative. */
  protected def unpartitioned: (String, String)

  final override def shortName(): String = group.format

  /** Makes Spark pass the query's columns to `getTable`. */
  final override def supportsExternalMetadata(): Boolean = true

  /** Called once when a query starts, and once for a batch write. Nothing has been written yet. */
  final override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table = {
    if (partitioning.nonEmpty)
      throw group.unsupported("partition the rows (partitionBy)", unpartitioned._1, unpartitioned._2)
    val raw = properties.asScala.toMap
    val checked = options(raw).fold(throw _, identity)
    PlanRedaction.hide(group, properties)
    val made = table(schema, checked)
    TornFirstBatch.sweep(raw, SinkEngine.OfActiveSession.hadoop)
    made
  }
}

/** The target of one query, from its start to its end. */
abstract class SinkTable(override val schema: StructType) extends Table with SupportsWrite with ReportsSinkMetrics {

  /** The sink's description in every query progress. */
  final override def toString: String = name()

  final override def columns(): Array[Column] = schema.fields.map(f => Column.create(f.name, f.dataType, f.nullable))

  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(
    TableCapability.STREAMING_WRITE,
    TableCapability.BATCH_WRITE,
    TableCapability.TRUNCATE,
    TableCapability.ACCEPT_ANY_SCHEMA)
}

/** The target of one query into a system with transactions. */
abstract class TransactionalTable(querySchema: StructType, engine: SinkEngine)
    extends SinkTable(querySchema)
    with ClaimingSink {

  protected def sink: TransactionalSink

  protected def sinkMetrics: SinkMetrics

  private lazy val claims = new Claims(sink, engine)

  final override def name(): String = sink.description

  final override def metrics(): util.Map[String, String] = sinkMetrics.asMap.asJava

  final override def started(queryId: String): Unit =
    for (query <- engine.runningQuery(queryId)) {
      val whole = query.outputMode == OutputMode.Complete
      val refused = sink.refusesQuery(WriteKind(whole, Some(query.outputMode), query.trigger))
      if (refused.orElse(sink.refusesWhole.filter(_ => whole)).isEmpty)
        try sink.started(Run(sink.settings.sinkId.getOrElse(queryId), queryId, query.runId), schema)
        catch {
          case error: EpochalException => Claims.log.info("{}: {}", sink.format: Any, error.getMessage)
        }
    }

  final override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = new TransactionalWriteBuilder(
    WriteRequest(sink, claims, info.schema, info.queryId, sinkMetrics, engine))
}

private[epochal] object Messages {

  /** The messages of a sink's tasks. */
  def of[M <: WriterCommitMessage: ClassTag](messages: Array[WriterCommitMessage]): Seq[M] = messages.toSeq.map {
    case message: M => message
    case other      => throw new IllegalStateException(s"not a message of this sink: $other")
  }
}

/** Claims the ledger once for every run.
  *
  * Spark creates a sink's write objects for each micro-batch, and its table once for each start: so the table holds what a run
  * has claimed. A fenced run finds its old generation and never claims again.
  */
final private[sink] class Claims(sink: TransactionalSink, engine: SinkEngine) {
  import Claims._

  private val claims = mutable.Map.empty[Run, ClaimedRun]

  def of(schema: StructType, run: Run, files: => Option[RowFiles]): ClaimedRun = synchronized {
    claims.getOrElseUpdate(
      run, {
        Failpoints.reach(Failpoint.BeforeClaim)
        engine.afterRun(run.runId)(sink.ended())
        val claimed = sink.claim(run, schema)(decide(run, _))
        log.info(
          s"${sink.format}: run {} of sink '{}' claimed generation {} (last epoch {})",
          run.runId,
          run.sinkId,
          Long.box(claimed.row.generation),
          claimed.row.last.fold("none")(_.epoch.toString))
        Failpoints.reach(Failpoint.AfterClaim)
        val mine = files
        mine.foreach(_.removeOthers())
        ClaimedRun(claimed.row, claimed.target, mine)
      })
  }

  private def decide(run: Run, found: LedgerState): Either[EpochalException, LedgerRow] = {
    val settings = sink.settings
    import settings.{onLedgerEmpty, onNewQuery}
    import found.{known, server, stored, target}
    val claim = Claim(run.sinkId, run.queryId, run.runId, target, server, onNewQuery, known, stored, onLedgerEmpty)
    Claim.decide(claim, found.current, found.others)
  }
}

private[sink] object Claims {
  val log: Logger = LoggerFactory.getLogger(classOf[Claims])

  /** The error if the ledger no longer has the row that a run has claimed. */
  def lost(sinkId: String, epoch: Long): EpochalException =
    Conditions.LedgerEmpty("epoch" -> epoch, "sinkId" -> sinkId)
}

/** A run with its claim.
  *
  * @param files
  *   where its tasks may put rows that are too many for their messages
  */
final private[sink] case class ClaimedRun(row: LedgerRow, target: SinkTarget, files: Option[RowFiles]) {

  /** Micro-batches: whether the ledger still has rows stored in the middle of epochs; None: not yet checked. */
  @volatile var hasProgress: Option[Boolean] = None
}

/** Lets a query start again that was killed while Spark logged the offsets, or the commit, of its very first batch.
  *
  * Spark writes them to `offsets/.0.<uuid>.tmp` or `commits/.0.<uuid>.tmp` and renames that file. If the file is left behind,
  * Spark 4.3 assumes that the checkpoint is in use, and rejects every later start
  * (`STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY`): if no offsets are logged, and under a real-time trigger, which first deletes
  * uncommitted ones. Spark planned nothing from such a file, and never reads it: it is deleted if nothing was committed and
  * `state` is empty.
  */
private[epochal] object TornFirstBatch {
  private val log = LoggerFactory.getLogger(getClass.getName.stripSuffix("$"))
  private val Temporary = """\.0\.[0-9a-f-]{36}\.tmp""".r

  /** Deletes the file.
    *
    * @param options
    *   of a streaming write; without `checkpointLocation` there is nothing to do
    */
  def sweep(options: Map[String, String], hadoop: => Configuration): Unit =
    options.collectFirst { case (name, place) if name.equalsIgnoreCase("checkpointLocation") => place }.foreach {
      place =>
        try {
          val checkpoint = new Path(place)
          sweep(checkpoint.getFileSystem(hadoop), checkpoint)
        } catch { case NonFatal(error) => log.debug("the checkpoint could not be checked", error) }
    }

  private def sweep(fs: FileSystem, checkpoint: Path): Unit = {
    def names(directory: String): Seq[String] =
      Try(fs.listStatus(new Path(checkpoint, directory)).toSeq.map(_.getPath.getName)).getOrElse(Nil)
    if (names("commits").forall(Temporary.matches) && names("state").isEmpty)
      for {
        directory <- Seq("offsets", "commits")
        name <- names(directory).filter(Temporary.matches)
      } {
        val file = new Path(new Path(checkpoint, directory), name)
        if (fs.delete(file, false))
          log.warn(
            "Deleted {}: an earlier start was stopped while Spark logged its first batch, which was not committed.",
            file)
      }
  }
}
