package io.epochal.testkit

import org.apache.spark.sql.catalyst.InternalRow
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.Conditions

/** What every exactly-once streaming sink must do. Mix it into a suite and give it the sink, as with [[SourceChecks]]. */
trait SinkChecks extends AnyFunSuite with Refusals {

  def sinkName: String

  /** A fresh target with no rows, and a fresh checkpoint. */
  def newFixture(): SinkFixture

  private val query = "5b3c9f0e-0000-4000-8000-000000000001"

  private def check(claim: String)(body: Target => Any): Unit =
    test(s"$sinkName: $claim") {
      val fixture = newFixture()
      try { body(new Target(fixture)); () }
      finally fixture.close()
    }

  /** A target, and the engine's part towards it. */
  private class Target(val fixture: SinkFixture) {
    def rows(numbers: Seq[Int]): Seq[InternalRow] = numbers.map(n => fixture.row(n.toLong))

    def begin(run: SinkRun, epoch: Long, partitions: Int = 2, offsets: String = "same"): Epoch = {
      fixture.logOffsets(epoch, s"""{"epoch":$epoch,"offsets":"$offsets"}""")
      new Epoch(epoch, run.newWrite(), partitions)
    }

    /** A whole epoch with its rows dealt out to so many partitions. */
    def write(run: SinkRun, epoch: Long, numbers: Range, partitions: Int = 2, offsets: String = "same"): Unit = {
      val now = begin(run, epoch, partitions, offsets)
      now.commit((0 until partitions).map { p =>
        now.task(p, p.toLong, rows(numbers.filter(_ % partitions == p)))
      })
    }

    def shouldHold(numbers: Range): Unit = {
      val stored = fixture.stored().sorted
      assert(stored == numbers.map(_.toLong))
      ()
    }
  }

  check("rows appear with the driver's commit, and not before") { target =>
    val epoch = target.begin(target.fixture.newRun(query), 0)
    val messages = Seq(epoch.task(0, 0, target.rows(0 until 5)), epoch.task(1, 1, target.rows(5 until 9)))
    target.shouldHold(0 until 0)
    epoch.commit(messages)
    target.shouldHold(0 until 9)
  }

  check("epochs follow each other, in one run and in later ones") { target =>
    val first = target.fixture.newRun(query)
    target.write(first, 0, 0 until 10)
    target.write(first, 1, 10 until 15)
    target.write(target.fixture.newRun(query), 2, 15 until 30, partitions = 5)
    target.shouldHold(0 until 30)
  }

  check("an epoch that comes again is a no-op, in the same run and after a restart, on other partitions") { target =>
    val run = target.fixture.newRun(query)
    target.write(run, 0, 0 until 10)
    target.write(run, 0, 0 until 10)
    target.shouldHold(0 until 10)
    target.write(target.fixture.newRun(query), 0, 0 until 10, partitions = 3)
    target.shouldHold(0 until 10)
    target.write(target.fixture.newRun(query), 1, 10 until 12)
    target.shouldHold(0 until 12)
  }

  check("an epoch that comes again with other rows of the same offsets is kept as it was") { target =>
    target.write(target.fixture.newRun(query), 0, 0 until 10)
    target.write(target.fixture.newRun(query), 0, 100 until 110)
    target.shouldHold(0 until 10)
  }

  check("an epoch that comes again with other offsets is an error, and nothing is written") { target =>
    target.write(target.fixture.newRun(query), 0, 0 until 10)
    refused(Conditions.EpochOffsetsChanged) {
      target.write(target.fixture.newRun(query), 0, 10 until 20, offsets = "other")
    }
    target.shouldHold(0 until 10)
  }

  check("an epoch after a gap is an error, and nothing is written") { target =>
    val run = target.fixture.newRun(query)
    target.write(run, 0, 0 until 10)
    refused(Conditions.EpochGap)(target.write(run, 2, 20 until 30))
    target.shouldHold(0 until 10)
  }

  check("an epoch older than the last is an error, and nothing is written") { target =>
    val run = target.fixture.newRun(query)
    target.write(run, 0, 0 until 10)
    target.write(run, 1, 10 until 20)
    refused(Conditions.EpochRegressed)(target.write(run, 0, 0 until 10))
    target.shouldHold(0 until 20)
  }

  check("a first epoch that is not 0 is an error: what was before it is not known") { target =>
    refused(Conditions.LedgerEmpty)(target.write(target.fixture.newRun(query), 3, 0 until 10))
    target.shouldHold(0 until 0)
  }

  check("an epoch without rows counts") { target =>
    val run = target.fixture.newRun(query)
    target.write(run, 0, 0 until 10)
    target.write(run, 1, 0 until 0)
    target.write(run, 1, 0 until 0)
    target.write(run, 2, 10 until 20)
    target.shouldHold(0 until 20)
  }

  check("only the attempts that the driver names are stored") { target =>
    val epoch = target.begin(target.fixture.newRun(query), 0)
    epoch.deadTask(0, 0, target.rows(100 until 110))
    epoch.task(1, 1, target.rows(5 until 10))
    val named = Seq(epoch.task(0, 2, target.rows(0 until 5)), epoch.task(1, 3, target.rows(5 until 10)))
    epoch.commit(named)
    target.shouldHold(0 until 10)
  }

  check("an aborted epoch leaves nothing, and can be written afterwards") { target =>
    val run = target.fixture.newRun(query)
    val epoch = target.begin(run, 0)
    epoch.abort(Seq(epoch.task(0, 0, target.rows(0 until 5)), null))
    target.shouldHold(0 until 0)
    target.write(run, 0, 0 until 10)
    target.shouldHold(0 until 10)
  }

  check("abort after a commit undoes nothing") { target =>
    val run = target.fixture.newRun(query)
    val epoch = target.begin(run, 0)
    val messages = Seq(epoch.task(0, 0, target.rows(0 until 5)), epoch.task(1, 1, target.rows(5 until 10)))
    epoch.commit(messages)
    epoch.abort(messages)
    epoch.abort(Seq(null, null))
    target.shouldHold(0 until 10)
  }

  check("a run that was replaced writes nothing more, whatever epoch it brings") { target =>
    val old = target.fixture.newRun(query)
    target.write(old, 0, 0 until 10)
    val late = target.begin(old, 1)
    val messages = Seq(late.task(0, 0, target.rows(100 until 105)), late.task(1, 1, target.rows(105 until 110)))
    val successor = target.fixture.newRun(query)
    target.write(successor, 0, 0 until 10)
    refused(Conditions.SinkFenced)(late.commit(messages))
    refused(Conditions.SinkFenced)(target.write(old, 1, 100 until 110))
    target.shouldHold(0 until 10)
    target.write(successor, 1, 10 until 20)
    refused(Conditions.SinkFenced)(target.write(old, 2, 100 until 110))
    target.shouldHold(0 until 20)
  }

  check("another query on the same sink is an error, and nothing is written") { target =>
    target.write(target.fixture.newRun(query), 0, 0 until 10)
    refused(Conditions.QueryChanged) {
      target.write(target.fixture.newRun("5b3c9f0e-0000-4000-8000-000000000002"), 0, 10 until 20)
    }
    target.shouldHold(0 until 10)
  }
}
