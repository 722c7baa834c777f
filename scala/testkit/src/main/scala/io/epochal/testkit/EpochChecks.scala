package io.epochal.testkit

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow

import io.epochal.core.error.{Condition, Conditions}
import io.epochal.testkit.SinkPromises._
import io.epochal.testkit.report.{Check, Evidence}

/** Checks of a sink over epochs, without a query: new, replayed and aborted ones, and those of other runs. */
private[testkit] object EpochChecks {

  /** @param isRefusal
    *   whether an error is a refusal with a condition
    */
  def of(
      newFixture: () => SinkFixture,
      isRefusal: SinkFixture => (Throwable, Condition) => Boolean = _.reports): Seq[Check] = {
    val stage = new Stage(newFixture)(fixture => new EpochScene(fixture, isRefusal(fixture)))
    Seq(
      stage.check(DriverCommits) { scene =>
        val epoch = scene.begin(scene.newRun(), 0)
        val messages = Seq(epoch.task(0, 0, scene.rows(0 until 5)), epoch.task(1, 1, scene.rows(5 until 9)))
        scene.shouldHold(0 until 0)
        epoch.commit(messages)
        scene.shouldHold(0 until 9)
      },
      stage.check(EpochsFollow) { scene =>
        val first = scene.newRun()
        scene.write(first, 0, 0 until 10)
        scene.write(first, 1, 10 until 15)
        scene.write(scene.newRun(), 2, 15 until 30, partitions = 5)
        scene.shouldHold(0 until 30)
      },
      stage.check(EpochReplay) { scene =>
        val run = scene.newRun()
        scene.write(run, 0, 0 until 10)
        scene.write(run, 0, 0 until 10)
        scene.shouldHold(0 until 10)
        scene.write(scene.newRun(), 0, 0 until 10, partitions = 3)
        scene.shouldHold(0 until 10)
        scene.write(scene.newRun(), 1, 10 until 12)
        scene.shouldHold(0 until 12)
      },
      stage.check(OtherRows) { scene =>
        scene.write(scene.newRun(), 0, 0 until 10)
        scene.write(scene.newRun(), 0, 100 until 110)
        scene.shouldHold(0 until 10)
      },
      stage.check(EmptyEpoch) { scene =>
        val run = scene.newRun()
        scene.write(run, 0, 0 until 10)
        scene.write(run, 1, 0 until 0)
        scene.write(run, 1, 0 until 0)
        scene.write(run, 2, 10 until 20)
        scene.shouldHold(0 until 20)
      },
      stage.check(OtherOffsets) { scene =>
        scene.write(scene.newRun(), 0, 0 until 10)
        scene.refused(Conditions.EpochOffsetsChanged, "epoch 0 with other offsets") {
          scene.write(scene.newRun(), 0, 10 until 20, offsets = "other")
        }
        scene.shouldHold(0 until 10)
      },
      stage.check(EpochGap) { scene =>
        val run = scene.newRun()
        scene.write(run, 0, 0 until 10)
        scene.refused(Conditions.EpochGap, "epoch 2 after epoch 0")(scene.write(run, 2, 20 until 30))
        scene.shouldHold(0 until 10)
      },
      stage.check(EpochRegressed) { scene =>
        val run = scene.newRun()
        scene.write(run, 0, 0 until 10)
        scene.write(run, 1, 10 until 20)
        scene.refused(Conditions.EpochRegressed, "epoch 0 after epoch 1")(scene.write(run, 0, 0 until 10))
        scene.shouldHold(0 until 20)
      },
      stage.check(LedgerEmpty) { scene =>
        scene.refused(Conditions.LedgerEmpty, "epoch 3 as the first one")(scene.write(scene.newRun(), 3, 0 until 10))
        scene.shouldHold(0 until 0)
      },
      stage.check(Fencing) { scene =>
        val old = scene.newRun()
        scene.write(old, 0, 0 until 10)
        val late = scene.begin(old, 1)
        val messages = Seq(late.task(0, 0, scene.rows(100 until 105)), late.task(1, 1, scene.rows(105 until 110)))
        val successor = scene.newRun()
        scene.write(successor, 0, 0 until 10)
        scene.refused(Conditions.SinkFenced, "a commit of a run that was replaced")(late.commit(messages))
        scene.refused(Conditions.SinkFenced, "an epoch of a run that was replaced")(scene.write(old, 1, 100 until 110))
        scene.shouldHold(0 until 10)
        scene.write(successor, 1, 10 until 20)
        scene.refused(Conditions.SinkFenced, "an epoch of a run that was replaced")(scene.write(old, 2, 100 until 110))
        scene.shouldHold(0 until 20)
      },
      stage.check(OtherQuery) { scene =>
        scene.write(scene.newRun(), 0, 0 until 10)
        scene.refused(Conditions.QueryChanged, "another query") {
          scene.write(scene.fixture.newRun("5b3c9f0e-0000-4000-8000-000000000002"), 0, 10 until 20)
        }
        scene.shouldHold(0 until 10)
      },
      stage.check(NamedAttempts) { scene =>
        val epoch = scene.begin(scene.newRun(), 0)
        epoch.deadTask(0, 0, scene.rows(100 until 110))
        epoch.task(1, 1, scene.rows(5 until 10))
        val messages = Seq(epoch.task(0, 2, scene.rows(0 until 5)), epoch.task(1, 3, scene.rows(5 until 10)))
        epoch.commit(messages)
        scene.shouldHold(0 until 10)
      },
      stage.check(AbortLeavesNothing) { scene =>
        val run = scene.newRun()
        val epoch = scene.begin(run, 0)
        epoch.abort(Seq(epoch.task(0, 0, scene.rows(0 until 5)), null))
        scene.shouldHold(0 until 0)
        scene.write(run, 0, 0 until 10)
        scene.shouldHold(0 until 10)
      },
      stage.check(AbortAfterCommit) { scene =>
        val run = scene.newRun()
        val epoch = scene.begin(run, 0)
        val messages = Seq(epoch.task(0, 0, scene.rows(0 until 5)), epoch.task(1, 1, scene.rows(5 until 10)))
        epoch.commit(messages)
        epoch.abort(messages)
        epoch.abort(Seq(null, null))
        scene.shouldHold(0 until 10)
      }
    )
  }
}

/** A target for one check, with calls to the sink as Spark's engine makes them. */
final private[testkit] class EpochScene(val fixture: SinkFixture, isRefusal: (Throwable, Condition) => Boolean)
    extends AutoCloseable {

  val query = "5b3c9f0e-0000-4000-8000-000000000001"

  def newRun(): SinkRun = fixture.newRun(query)

  def rows(numbers: Seq[Int]): Seq[InternalRow] = numbers.map(n => fixture.row(n.toLong))

  def begin(run: SinkRun, epoch: Long, partitions: Int = 2, offsets: String = "same"): Epoch = {
    fixture.logOffsets(epoch, s"""{"epoch":$epoch,"offsets":"$offsets"}""")
    new Epoch(epoch, run.newWrite(), partitions)
  }

  /** Writes and commits an epoch, with its rows distributed over the partitions. */
  def write(run: SinkRun, epoch: Long, numbers: Range, partitions: Int = 2, offsets: String = "same"): Unit = {
    val now = begin(run, epoch, partitions, offsets)
    now.commit((0 until partitions).map(p => now.task(p, p.toLong, rows(numbers.filter(_ % partitions == p)))))
  }

  def shouldHold(numbers: Range): Unit =
    Evidence.sameRows("rows in the target", fixture.stored().asScala.map(_.longValue).toSeq, numbers.map(_.toLong))

  def refused(condition: Condition, what: String)(body: => Any): Unit =
    ExpectedRefusal.of(condition, what, isRefusal)(body): Unit

  override def close(): Unit = fixture.close()
}
