package io.epochal.kit.sink

import scala.collection.mutable

import org.apache.spark.sql.types.StructType
import org.slf4j.{Logger, LoggerFactory}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.ledger.{Claim, LedgerRow}
import io.epochal.kit.sink.transport.RowFiles
import io.epochal.kit.spark.SinkEngine

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
        val claim = sink.claim(run, schema)(decide(run, _))
        log.info(
          s"${sink.format}: run {} of sink '{}' claimed generation {} (last epoch {})",
          run.runId,
          run.sinkId,
          Long.box(claim.row.generation),
          claim.row.last.fold("none")(_.epoch.toString))
        Failpoints.reach(Failpoint.AfterClaim)
        val mine = files
        mine.foreach(_.removeOthers())
        ClaimedRun(claim.row, claim.target, mine)
      })
  }

  private def decide(run: Run, state: LedgerState): Either[EpochalException, LedgerRow] = {
    val settings = sink.settings
    import settings.{onLedgerEmpty, onNewQuery}
    import state.{known, server, stored, target}
    val claim = Claim(run.sinkId, run.queryId, run.runId, target, server, onNewQuery, known, stored, onLedgerEmpty)
    Claim.decide(claim, state.current, state.others)
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
