package io.epochal.support

import java.io.File
import java.nio.file.Files

import org.apache.spark.SparkConf
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.{OutputMode, StreamingQuery, Trigger}
import org.apache.spark.sql.test.QuerySuite
import org.scalatest.Assertions.assert
import org.scalatest.time.{Millis, Minutes, Span}

/** Runs queries under each kind of trigger, in a session that allows real-time mode, with short batches. */
trait ModesTest extends QuerySuite {
  import ModesTest.Mode

  override protected def sparkConf: SparkConf = super.sparkConf
    .set("spark.sql.streaming.realTimeMode.minBatchDuration", "300")
    .set("spark.sql.streaming.realTimeMode.allowlistCheck", "false")
    .set("spark.sql.streaming.stateStore.checkpointFormatVersion", "2")
    .set(
      "spark.sql.streaming.stateStore.providerClass",
      "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")

  /** Waits until the claim holds; fails if the query ends. */
  protected def until(query: StreamingQuery, minutes: Long)(claim: => Any): Unit =
    eventually(timeout(Span(minutes, Minutes)), interval(Span(20, Millis))) {
      query.exception.foreach(throw _)
      claim: Unit
    }

  /** @param name
    *   key of the rows in [[Collected]]
    */
  protected def collect(frame: DataFrame, checkpoint: File, mode: Mode, name: String): StreamingQuery =
    frame.writeStream
      .foreach(new Collecting(name))
      .outputMode(mode.output)
      .option("checkpointLocation", checkpoint.getPath)
      .trigger(mode.trigger)
      .start()
}

object ModesTest {
  final case class Mode(name: String, trigger: Trigger, output: OutputMode)

  /** One mode of each kind, with intervals in milliseconds. */
  abstract class Modes(micro: Long, continuous: Long, realTime: Long) {
    val Micro: Mode = Mode("micro-batch", Trigger.ProcessingTime(micro), OutputMode.Append)
    val Continuous: Mode = Mode("continuous", Trigger.Continuous(continuous), OutputMode.Append)
    val RealTime: Mode = Mode("real-time", Trigger.RealTime(realTime), OutputMode.Update)
    val Modes: Seq[Mode] = Seq(Micro, Continuous, RealTime)

    private val Finishing = Mode("availableNow", Trigger.AvailableNow(), OutputMode.Append)

    /** Changes of mode (from, to) that Spark refuses while the last epoch is unfinished. */
    private val unfinishedRefused: Set[(Mode, Mode)] =
      Set(Micro -> Continuous, Micro -> RealTime, RealTime -> Continuous)

    /** Finishes the last epoch, if the change of mode requires it. */
    def finish(change: (Mode, Mode), checkpoint: File)(start: Mode => StreamingQuery): Unit =
      if (unfinishedRefused(change) && isUnfinished(checkpoint))
        assert(start(Finishing).awaitTermination(60000)): Unit

    /** Changes of mode (from, to) that Spark refuses. */
    val refused: Set[(Mode, Mode)] = Set(Continuous -> Micro, Continuous -> RealTime)
  }

  /** The last epoch that Spark logged as committed. */
  def lastCommit(checkpoint: File): Option[Long] = last(checkpoint, "commits")

  /** Whether the last epoch was started and not committed. */
  private def isUnfinished(checkpoint: File): Boolean =
    last(checkpoint, "offsets").exists(epoch => lastCommit(checkpoint).forall(_ < epoch))

  private def last(checkpoint: File, log: String): Option[Long] =
    Option(new File(checkpoint, log).list).toSeq.flatten.flatMap(_.toLongOption).maxOption

  /** Numeric field of the offset of the last committed epoch; 0 before the first. */
  def committed(checkpoint: File, field: String): Long = lastCommit(checkpoint).fold(0L) { epoch =>
    val logged = Files.readString(new File(checkpoint, s"offsets/$epoch").toPath)
    s"\"$field\":(\\d+)".r.findFirstMatchIn(logged).fold(0L)(_.group(1).toLong)
  }
}
