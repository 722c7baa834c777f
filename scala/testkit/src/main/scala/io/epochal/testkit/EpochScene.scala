package io.epochal.testkit

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow

import io.epochal.core.error.Condition
import io.epochal.testkit.report.{Check, Evidence, NotChecked, Promise}

/** A target, and the engine's part towards it, for one check. */
final private[testkit] class EpochScene(val fixture: SinkFixture, tells: (Throwable, Condition) => Boolean) {

  val query = "5b3c9f0e-0000-4000-8000-000000000001"
  val otherQuery = "5b3c9f0e-0000-4000-8000-000000000002"

  def newRun(): SinkRun = fixture.newRun(query)

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

  def shouldHold(numbers: Range): Unit =
    Evidence.sameRows(
      "rows in the target",
      fixture.stored().asScala.map(_.longValue).toSeq.sorted,
      numbers.map(_.toLong))

  def refused(condition: Condition, what: String)(body: => Any): Unit = {
    val _ = Refusal.of(condition, what, tells)(body)
  }
}

private[testkit] object EpochScene {

  /** Gives checks a fresh fixture each, and takes it away. */
  final class Stage(newFixture: () => SinkFixture, tells: Option[(Throwable, Condition) => Boolean]) {

    def check(promise: Promise)(body: EpochScene => Any): Check = new Check(promise, () => run(promise, body))

    private def run(promise: Promise, body: EpochScene => Any): Unit = {
      val fixture = newFixture()
      try {
        Option(fixture.exemptions.get(promise.name)).foreach(reason => throw new NotChecked(reason))
        val told = tells.getOrElse((error: Throwable, condition: Condition) => fixture.tells(error, condition))
        val _ = body(new EpochScene(fixture, told))
      } finally fixture.close()
    }
  }
}
