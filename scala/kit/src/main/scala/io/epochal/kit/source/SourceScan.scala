package io.epochal.kit.source

import java.time.Clock

import org.apache.hadoop.fs.Path
import org.apache.spark.SparkContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.streaming.{ContinuousStream, MicroBatchStream}
import org.apache.spark.sql.connector.read.{Batch, Scan}
import org.apache.spark.sql.types.StructType

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.TriggerMode
import io.epochal.kit.spark.{QueryStop, RunningQuery, SessionHadoop}
import io.epochal.kit.store.LoggedEpochs

/** One reading of a table: Spark asks it for the stream (or batch) of the mode that the query runs in.
  *
  * @param name
  *   shown in plans
  */
abstract class SourceScan[P](name: String, schema: StructType, clock: Clock = Clock.systemUTC()) extends Scan {

  /** The batch read: what the origin has when it is planned. */
  protected def batch: Batch

  /** A source that can be read in all modes of its table.
    *
    * @param checkpoint
    *   keeps the stream's first offset, and what else the source keeps beside it
    */
  protected def source(checkpoint: InitialOffset): Source[P]

  /** Of the session in which the query is planned; streams are used in threads of their own. */
  protected lazy val spark: SparkContext = SparkSession.active.sparkContext

  final override def readSchema(): StructType = schema

  final override def description(): String = name

  /** Spark asks for it each time that it plans the scan: the origin is asked once. */
  final override lazy val toBatch: Batch = batch

  final override def toMicroBatchStream(checkpoint: String): MicroBatchStream = QueryStop.guard {
    val (epochs, initial) = (logged(checkpoint), initialOffset(checkpoint))
    val inRealTime = RunningQuery.triggerOfThisThread.contains(TriggerMode.RealTime)
    epochs.filter(_.isContinuous).foreach(_ => throw continuousCheckpoint)
    if (inRealTime) epochs.foreach(refuseUnfinished(_, TriggerMode.RealTime, initial.realTimeRuns.began))
    watched(initial) match {
      case endless: ContinuousSource[_] => RealTime.stream(endless, initial, clock)
      case _ if inRealTime              => throw noRealTime
      case other                        => new SourceStream(other, initial, clock)
    }
  }

  /** Spark asks for it while an earlier run of the query may still run; what that has logged is removed later. */
  final override def toContinuousStream(checkpoint: String): ContinuousStream = QueryStop.guard {
    val epochs = logged(checkpoint)
    epochs.foreach(refuseUnfinished(_, TriggerMode.Continuous))
    val initial = initialOffset(checkpoint)
    watched(initial) match {
      case continuous: ContinuousSource[_] =>
        new ContinuousSourceStream(continuous, initial, clock, () => epochs.foreach(forgetUncommitted))
      case _ => super.toContinuousStream(checkpoint)
    }
  }

  private def forgetUncommitted(epochs: LoggedEpochs): Unit = {
    refuseUnfinished(epochs, TriggerMode.Continuous)
    val _ = epochs.removeUncommitted()
  }

  /** A sink may have the rows of such an epoch: it must run again as it was.
    *
    * @param but
    *   the trigger began it itself
    */
  private def refuseUnfinished(epochs: LoggedEpochs, trigger: TriggerMode, but: Long => Boolean = _ => false): Unit =
    epochs.unfinished.filterNot(but).foreach { epoch =>
      throw refused(
        trigger,
        s"epoch $epoch was begun under another trigger and is not committed, and would run again to another end",
        "the trigger that began it once more, such as .trigger(availableNow=True) with output mode append, until it is committed"
      )
    }

  /** A batch read has no offsets, and needs no event time. */
  private def watched(checkpoint: InitialOffset): Source[_] =
    EventTimeSource.of(source(checkpoint), schema, checkpoint, spark, clock)

  /** Of the query, whose checkpoint has a directory for each source. */
  private def logged(checkpoint: String): Option[LoggedEpochs] =
    LoggedEpochs.of(new Path(checkpoint), SessionHadoop.configuration)

  private def continuousCheckpoint = refused(
    RunningQuery.triggerOfThisThread.getOrElse(TriggerMode.MicroBatch),
    "the checkpoint was written under a continuous trigger, and Spark goes on from there under no other one",
    ".trigger(continuous=\"1 second\"), or a new checkpoint"
  )

  private def noRealTime = {
    val (reason, instead) = whyNoRealTime
    refused(TriggerMode.RealTime, reason, instead)
  }

  /** Why the source cannot be read in real time, and what to do instead; of one that can, nobody asks. */
  protected def whyNoRealTime: (String, String) =
    ("this source finds the end of a batch before the batch runs", ".trigger(processingTime=\"1 second\")")

  private def refused(trigger: TriggerMode, reason: String, instead: String): EpochalException =
    Conditions.TriggerUnsupported(
      "format" -> name.takeWhile(_ != '['),
      "trigger" -> trigger.name,
      "reason" -> reason,
      "instead" -> instead)

  private def initialOffset(checkpoint: String) = new InitialOffset(checkpoint, SessionHadoop.configuration)
}
