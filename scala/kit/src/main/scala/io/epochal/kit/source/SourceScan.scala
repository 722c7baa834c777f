package io.epochal.kit.source

import java.time.Clock

import org.apache.spark.SparkContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.streaming.{ContinuousStream, MicroBatchStream}
import org.apache.spark.sql.connector.read.{Batch, Scan}
import org.apache.spark.sql.types.StructType

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.TriggerMode
import io.epochal.kit.spark.{QueryStop, RunningQuery, SessionHadoop}
import io.epochal.kit.store.LoggedEpochs

/** A scan of a table: Spark calls it for the stream (or batch) of the query's mode.
  *
  * @param name
  *   shown in plans
  */
abstract class SourceScan[P](name: String, schema: StructType, clock: Clock = Clock.systemUTC()) extends Scan {

  /** A batch read: the rows that the origin has when the batch is planned. */
  protected def batch: Batch

  /** The source, for all modes of its table.
    *
    * @param checkpoint
    *   keeps the stream's first offset, and other values that the source keeps beside it
    */
  protected def source(checkpoint: InitialOffset): Source[P]

  /** The context of the session that plans the query; streams run in threads of their own. */
  protected lazy val spark: SparkContext = SparkSession.active.sparkContext

  final override def readSchema(): StructType = schema

  final override def description(): String = name

  /** Spark calls it each time that it plans the scan: the origin is queried once. */
  final override lazy val toBatch: Batch = batch

  final override def toMicroBatchStream(checkpoint: String): MicroBatchStream = QueryStop.guard {
    val initial = initialOffset(checkpoint)
    val epochs = initial.epochs
    val inRealTime = RunningQuery.triggerOfThisThread.contains(TriggerMode.RealTime)
    epochs.foreach(_.restore())
    epochs.filter(_.isContinuous).foreach(_ => throw continuousCheckpoint)
    if (inRealTime) epochs.foreach { epoch =>
      refuseUnfinished(epoch, TriggerMode.RealTime, initial.realTimeRuns.began)
      epoch.keepUncommitted()
    }
    val connector = source(initial)
    if (inRealTime) refuseEndless(connector, TriggerMode.RealTime)
    connector match {
      case endless: ContinuousSource[P] => RealTime.stream(endless, initial, clock, eventTime(connector, initial))
      case _ if inRealTime              => throw (refusal(TriggerMode.RealTime, _, _)).tupled(whyNoRealTime)
      case _                            => new SourceStream(connector, initial, clock, eventTime(connector, initial))
    }
  }

  /** Spark calls it while an earlier run of the query may still run; entries that the earlier run has logged are moved later.
    */
  final override def toContinuousStream(checkpoint: String): ContinuousStream = QueryStop.guard {
    val initial = initialOffset(checkpoint)
    val epochs = initial.epochs
    epochs.foreach(_.restore())
    epochs.foreach(refuseUnfinished(_, TriggerMode.Continuous))
    source(initial) match {
      case endless: ContinuousSource[P] =>
        refuseEndless(endless, TriggerMode.Continuous)
        def forget(): Unit = epochs.foreach(forgetUncommitted)
        new ContinuousSourceStream(endless, initial, clock, eventTime(endless, initial), forget _)
      case _ => super.toContinuousStream(checkpoint)
    }
  }

  private def forgetUncommitted(epochs: LoggedEpochs): Unit = {
    refuseUnfinished(epochs, TriggerMode.Continuous)
    if (!RunningQuery.hasClaimingSink) epochs.setAside(): Unit
  }

  /** Rejects a new trigger while an epoch is unfinished: a sink may have its rows, so it must run again unchanged.
    *
    * @param but
    *   whether the new trigger began the epoch itself
    */
  private def refuseUnfinished(epochs: LoggedEpochs, trigger: TriggerMode, but: Long => Boolean = _ => false): Unit =
    epochs.unfinished.filterNot(but).foreach { epoch =>
      throw refusal(
        trigger,
        s"epoch $epoch was begun under another trigger and is not committed, and would run again to another end",
        "the trigger that began it once more, such as {trigger:availableNow} with output mode append, until it is committed"
      )
    }

  private def refuseEndless(source: Source[P], trigger: TriggerMode): Unit = source match {
    case endless: ContinuousSource[P] =>
      endless.needsEnd.foreach(reason => throw refusal(trigger, reason, "{trigger:processingTime=1 second}"))
    case _ => ()
  }

  /** A batch read has no offsets, and needs no event time. */
  private def eventTime(source: Source[P], checkpoint: InitialOffset): Option[EventTime] =
    source.eventTimeColumn.flatMap(EventTimeColumn.of(_, schema)).map { column =>
      val highest = new HighestEventTime
      spark.register(highest)
      new EventTime(column, new KeptMark(checkpoint.beside(KeptMark.Directory)), clock, highest)
    }

  private def continuousCheckpoint = refusal(
    RunningQuery.triggerOfThisThread.getOrElse(TriggerMode.MicroBatch),
    "the checkpoint was written under a continuous trigger, and Spark resumes it under no other trigger",
    ".trigger(continuous=\"1 second\"), or a new checkpoint"
  )

  /** Why the source cannot be read in real time, and the alternative; only called for a source that cannot. */
  protected def whyNoRealTime: (String, String) =
    ("this source finds the end of a batch before the batch runs", "{trigger:processingTime=1 second}")

  private def refusal(trigger: TriggerMode, reason: String, instead: String): EpochalException =
    Conditions.TriggerUnsupported(
      "format" -> name.takeWhile(_ != '['),
      "trigger" -> trigger.name,
      "reason" -> reason,
      "instead" -> instead)

  private def initialOffset(checkpoint: String) = new InitialOffset(checkpoint, SessionHadoop.configuration)
}
