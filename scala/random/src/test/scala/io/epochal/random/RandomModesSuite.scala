package io.epochal.random

import java.io.File
import java.nio.file.Files
import java.util.UUID

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.StreamingQuery
import org.scalatest.tags.Slow
import org.scalatest.time.{Minutes, Span}

import io.epochal.support.ModesTest
import io.epochal.support.ModesTest.{Mode, lastCommit}

/** One checkpoint under one trigger and then another, for all pairs: delivery resumes after the last epoch that Spark logged as
  * committed, without a gap or a repetition.
  */
@Slow
final class RandomModesSuite extends ModesTest {
  import RandomModesSuite._
  import testImplicits._

  for (first <- Modes; second <- Modes if !refused(first -> second))
    test(s"${first.name} to ${second.name} resumes without a gap or a repetition") {
      withTempDir { checkpoint =>
        val before = run(checkpoint, first, 30)
        assert(before.gaps(None).isEmpty && before.ids.distinct == before.ids)
        finish(first -> second, checkpoint)(start(checkpoint, _, UUID.randomUUID().toString))
        val committed = position(checkpoint)
        assert(committed.exists(_.deliveredRows > 0))
        val after = run(checkpoint, second, 30)
        assert(after.gaps(committed).isEmpty)
        assert(after.ids.filter(isIn(committed, _)).isEmpty)
        assert(after.ids.distinct == after.ids)
      }
    }

  for ((first, second) <- Modes.flatMap(a => Modes.map(a -> _)).filter(refused))
    test(s"${first.name} to ${second.name} fails with a clear error") {
      withTempDir { checkpoint =>
        val _ = run(checkpoint, first, 30)
        val query = start(checkpoint, second, UUID.randomUUID().toString)
        val error = intercept[Exception](query.awaitTermination(60000))
        assert(error.getMessage.contains("[EPOCHAL.TRIGGER_UNSUPPORTED]"), error)
        assert(error.getMessage.contains(s"the ${second.name} trigger"), error)
      }
    }

  test("the logged end of a killed run is not used as the end of the replayed epoch") {
    withTempDir { checkpoint =>
      val _ = run(checkpoint, Continuous, 30)
      val (next, end) = (lastCommit(checkpoint).get + 1, position(checkpoint).get)
      val logged = new File(checkpoint, s"offsets/$next").toPath
      val before = Files.readString(new File(checkpoint, s"offsets/${next - 1}").toPath).linesIterator.toSeq
      val far = options.toJson(end.at(end.highWater + 100000))
      Seq(s".$next.crc", next.toString).foreach(name =>
        Files.deleteIfExists(new File(checkpoint, s"offsets/$name").toPath))
      Files.writeString(logged, (before.init :+ far).mkString("\n"))
      val rerun = run(checkpoint, Continuous, 10)
      assert(rerun.gaps(Some(end)).isEmpty)
      val committed = position(checkpoint)
      assert(committed.get.highWater < 100000)
      assert(run(checkpoint, Continuous, 10).gaps(committed).isEmpty)
    }
  }

  for (mode <- Seq(Continuous, RealTime))
    test(s"${mode.name}: a new number of partitions starts where the old ones have reached the same level") {
      withTempDir { checkpoint =>
        val _ = run(checkpoint, mode, 30)
        val before = position(checkpoint)
        val after = run(checkpoint, mode, 60, partitions = 1)
        assert(after.gaps(before).isEmpty && after.ids.filter(isIn(before, _)).isEmpty)
        val committed = position(checkpoint)
        assert(Set(0, 1)(committed.get.partitions.size))
        // Spark may replay an epoch when the partitions change.
        val last = run(checkpoint, mode, 30, partitions = 1)
        assert(last.gaps(committed).isEmpty && last.ids.filter(isIn(committed, _)).isEmpty)
      }
    }

  /** Starts a query, waits until `rows` rows were delivered in committed epochs, and stops it. */
  private def run(checkpoint: File, mode: Mode, rows: Int, partitions: Int = Partitions): Run = {
    val name = UUID.randomUUID().toString
    val goal = position(checkpoint).fold(0L)(_.deliveredRows) + rows
    val query = start(checkpoint, mode, name, partitions)
    try
      eventually(timeout(Span(4, Minutes))) {
        query.exception.foreach(throw _)
        assert(position(checkpoint).exists(_.deliveredRows >= goal))
      }
    finally query.stop()
    Run(Delivered.into(name).asScala.toSeq, partitions)
  }

  private def start(checkpoint: File, mode: Mode, name: String, partitions: Int = Partitions): StreamingQuery =
    spark.readStream
      .format("epochal-random")
      .options(of(partitions))
      .load()
      .select($"id")
      .as[Long]
      .writeStream
      .foreach(new Delivered(name))
      .outputMode(mode.output)
      .option("checkpointLocation", checkpoint.getPath)
      .trigger(mode.trigger)
      .start()
}

private object RandomModesSuite extends ModesTest.Modes(micro = 100, continuous = 200, realTime = 2000) {
  val Partitions = 2
  def of(partitions: Int): Map[String, String] = Map("rowsPerSecond" -> "100", "numPartitions" -> partitions.toString)
  val options: RandomOptions = RandomOptions.read(of(Partitions)).fold(throw _, identity)

  final case class Run(ids: Seq[Long], partitions: Int) {

    /** Ids below the position of every partition that neither this run nor an earlier one has delivered. */
    def gaps(from: Option[RandomPosition]): Seq[Long] = {
      val reached = (0 until partitions).map(p => ids.filter(_ % partitions == p).maxOption.getOrElse(-1L)).min
      val here = ids.toSet
      (0L to reached).filterNot(id => here(id) || isIn(from, id))
    }
  }

  /** Whether the position counts an id as delivered. */
  def isIn(position: Option[RandomPosition], id: Long): Boolean = position.exists { at =>
    val n = at.partitions.size
    id < at.rows || n > 0 && {
      val (turn, partition) = ((id - at.rows) / n, ((id - at.rows) % n).toInt)
      turn < at.partitions(partition)
    }
  }

  /** End of the last epoch that Spark logged as committed. */
  def position(checkpoint: File): Option[RandomPosition] = lastCommit(checkpoint).map { epoch =>
    val logged = Files.readAllLines(new File(checkpoint, s"offsets/$epoch").toPath).asScala.last
    options.fromJson(logged).fold(throw _, identity)
  }
}
