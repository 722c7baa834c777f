package io.epochal.core.ledger

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.core.ledger.ProgressModel.refusal

/** The decisions about rows that are stored in the middle of epochs: rows applied and rows owed, over crashes at any point. */
final class ProgressSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = 500, sizeRange = 40)

  private val Partitions = 3

  /** Where a run dies: in the tasks, after the sink's commit, or not at all in this epoch. */
  private case class Step(rows: Seq[Int], lost: Seq[Int], death: Int)

  private val steps: Gen[List[Step]] = Gen.nonEmptyListOf(for {
    rows <- Gen.listOfN(Partitions, Gen.choose(0, 12))
    lost <- Gen.listOfN(Partitions, Gen.choose(0, 5))
    death <- Gen.frequency(3 -> 0, 2 -> 1, 2 -> 2)
  } yield Step(rows, lost, death))

  private val triggers = Gen.oneOf(TriggerMode.Continuous, TriggerMode.RealTime)

  private def hash(partition: Int, number: Long): Long = Position.digest(partition.toLong, number)

  test("over any crashes, with reruns shorter or longer, each row is stored once, in its partition's order") {
    forAll(steps, triggers) { (steps, trigger) =>
      val model = new ProgressModel(Partitions, trigger, hash)
      var run = model.start()
      steps.foreach { step =>
        val dies = step.death == 1
        step.rows.indices.foreach(p => run.deliver(p, step.rows(p), if (dies) step.lost(p) else 0))
        if (!dies) run.commitSink()
        if (step.death == 0) run.commitSpark() else run = model.start()
        (0 until Partitions).foreach { p =>
          val stored = model.table(p)
          assert(stored == stored.indices.map(_.toLong), "a duplicate or missing row")
          assert(stored.size >= model.offsets(p), "a row that Spark has committed is not stored")
        }
      }
      model.progress.boundaries.foreach(boundary => assert(boundary.epoch >= model.epoch - 3))
    }
  }

  test("owed rows are skipped over as many short epochs and restarts as necessary") {
    val model = new ProgressModel(1, TriggerMode.RealTime, hash)
    val first = model.start()
    first.deliver(0, 100)
    first.commitSink()
    (1 to 10).foreach { n =>
      val run = model.start()
      run.deliver(0, 15)
      run.commitSink()
      run.commitSpark()
      assert(model.table(0).size == math.max(100, 15 * n))
      assert(model.progress.beyond.contains(math.max(0L, 100L - 15L * n)))
    }
  }

  test("reordered or different rows are detected at the last of the stored ones") {
    val model = new ProgressModel(1, TriggerMode.RealTime, hash)
    model.start().deliver(0, 10)
    val swapped = (p: Int, n: Long) => hash(p, if (n == 3) 4 else if (n == 4) 3 else n)
    val other = new ProgressModel(1, TriggerMode.RealTime, swapped)
    other.row = model.row
    other.progress = model.progress
    val run = other.start()
    run.deliver(0, 9)
    intercept[IllegalStateException](run.deliver(0, 1))
    assert(other.table(0).isEmpty)
  }

  private def started(model: ProgressModel, trigger: TriggerMode, partitions: Int, epoch: Long) =
    StartDecision.decide(
      ProgressStart("query", epoch, trigger, partitions, model.row.generation, model.row.runId, None),
      model.row,
      model.progress,
      OnLedgerEmpty.Fail)

  test("other partitions, or another trigger, are rejected while rows are owed, and begin new counts when none are") {
    val model = new ProgressModel(2, TriggerMode.RealTime, hash)
    val run = model.start()
    run.deliver(0, 5)
    assert(refusal(started(model, TriggerMode.RealTime, 3, 0)) == "ROWS_OWED")
    assert(refusal(started(model, TriggerMode.Continuous, 2, 0)) == "ROWS_OWED")
    assert(StartDecision.refusesMicroBatches(0, model.row, model.progress).map(_.condition.name).contains("ROWS_OWED"))
    run.commitSink()
    assert(refusal(started(model, TriggerMode.Continuous, 2, 0)) == "TRIGGER_CHANGED")
    assert(
      StartDecision.refusesMicroBatches(0, model.row, model.progress).map(_.condition.name).contains("TRIGGER_CHANGED"))
    run.commitSpark()
    assert(started(model, TriggerMode.RealTime, 3, 1).map(_.boundary.ends.size) == Right(3))
    assert(started(model, TriggerMode.Continuous, 2, 1).map(_.boundary.ends(0).rows) == Right(0L))
    assert(StartDecision.refusesMicroBatches(1, model.row, model.progress).isEmpty)
  }

  test("a ledger or a checkpoint that was set back is rejected, and so is a ledger without the query") {
    val model = new ProgressModel(1, TriggerMode.RealTime, hash)
    val run = model.start()
    (0 until 4).foreach { _ =>
      run.deliver(0, 5)
      run.commitSink()
      run.commitSpark()
    }
    assert(refusal(started(model, TriggerMode.RealTime, 1, 5)) == "EPOCH_GAP")
    assert(refusal(started(model, TriggerMode.RealTime, 1, 2)) == "EPOCH_REGRESSED")
    model.progress = Progress.Empty
    assert(refusal(started(model, TriggerMode.RealTime, 1, 4)) == "PROGRESS_LOST")
    model.row = model.row.copy(last = None)
    assert(refusal(started(model, TriggerMode.RealTime, 1, 4)) == "LEDGER_EMPTY")
    model.row = model.row.copy(generation = 9)
    assert(
      refusal(
        StartDecision.decide(
          ProgressStart("query", 0, TriggerMode.RealTime, 1, 8, model.row.runId, None),
          model.row,
          model.progress,
          OnLedgerEmpty.Fail)) == "SINK_FENCED")
  }

  test("rows that a server lost after it reported them as stored fail the epoch") {
    val model = new ProgressModel(1, TriggerMode.RealTime, hash)
    val run = model.start()
    run.deliver(0, 5)
    model.progress = model.progress.copy(applied = Map(0 -> Position(0L, 0L)))
    assert(intercept[Exception](run.commitSink()).getMessage.contains("PROGRESS_LOST"))
  }

  test("a checkpoint with other offsets for the previous epoch is rejected") {
    val model = new ProgressModel(1, TriggerMode.Continuous, hash)
    val run = model.start()
    run.deliver(0, 5)
    run.commitSink()
    run.commitSpark()
    model.offsets = Vector(3L)
    assert(intercept[Exception](model.start()).getMessage.contains("EPOCH_OFFSETS_CHANGED"))
  }
}
