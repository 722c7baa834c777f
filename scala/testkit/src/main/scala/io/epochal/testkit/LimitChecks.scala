package io.epochal.testkit

import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset, ReadLimit, SupportsTriggerAvailableNow}

import io.epochal.testkit.SourcePromises._
import io.epochal.testkit.report.{Check, Evidence}

/** How far a batch goes: read limits, and AvailableNow. */
private[testkit] object LimitChecks {

  private val Hour = 3600000L
  private val Batches = 100

  def of(stage: StreamScene.Stage): Seq[Check] = Seq(
    stage.check(MaxRows) { scene =>
      scene.fixture.makeAvailable(30)
      val stream = scene.newStream()
      val start = stream.initialOffset()
      Seq(1, 2, 10, 29, 30, 31, 1000).foreach { most =>
        val end = scene.next(stream, start, ReadLimit.maxRows(most.toLong))
        Evidence.equal(s"rows of a batch of at most $most", scene.read(stream, start, end).size, math.min(most, 30))
      }
    },
    stage.check(MinRows) { scene =>
      scene.fixture.makeAvailable(9)
      val stream = scene.newStream()
      val start = stream.initialOffset()
      val limit = ReadLimit.minRows(10, Hour)
      held(stream, start, limit)
      scene.fixture.makeAvailable(1)
      Evidence.equal(s"rows under $limit", scene.rowsBefore(stream, scene.next(stream, start, limit)), 10L)
    },
    stage.check(CompositeLimit) { scene =>
      scene.fixture.makeAvailable(9)
      val stream = scene.newStream()
      val start = stream.initialOffset()
      val limit = ReadLimit.compositeLimit(Array(ReadLimit.minRows(10, Hour), ReadLimit.maxRows(12)))
      held(stream, start, limit)
      scene.fixture.makeAvailable(20)
      Evidence.equal(s"rows under $limit", scene.rowsBefore(stream, scene.next(stream, start, limit)), 12L)
    },
    stage.check(AvailableNow) { scene =>
      val sizes = availableNow(scene, addedPerBatch = if (scene.fixture.endIsKnownAtStart) 0 else 5)
      if (scene.fixture.endIsKnownAtStart) Evidence.equal("sizes of the batches", sizes, Vector(10, 10, 5))
      else
        // A list that is followed shows its end only when a read comes there: what was added before that belongs to it.
        Evidence.unless(sizes.take(2) == Vector(10, 10) && sizes.sum >= 25)(
          s"25 rows in batches of at most 10 came in batches of ${Evidence.shown(sizes)}")
    },
    stage.check(AvailableNowTarget) { scene =>
      Evidence.equal(
        "sizes of the batches, while 5 rows are added during each",
        availableNow(scene, addedPerBatch = 5),
        Vector(10, 10, 5))
    }
  )

  private def held(stream: MicroBatchStream, start: Offset, limit: ReadLimit): Unit =
    MicroBatch.next(stream, start, limit).foreach { end =>
      Evidence.broken(s"there are 9 rows, and $limit lets a batch through to ${end.json}")
    }

  /** The sizes of the batches in which 25 rows come, at most 10 each. */
  private def availableNow(scene: StreamScene, addedPerBatch: Int): Vector[Int] = {
    scene.fixture.makeAvailable(25)
    val stream = scene.newStream()
    stream match {
      case now: SupportsTriggerAvailableNow => now.prepareForTriggerAvailableNow()
      case _ => Evidence.broken("the stream has no AvailableNow of its own (SupportsTriggerAvailableNow)")
    }
    var at = stream.initialOffset()
    val sizes = Iterator
      .continually(MicroBatch.next(stream, at, ReadLimit.maxRows(10)))
      .takeWhile(_.nonEmpty)
      .flatten
      .map { end =>
        scene.fixture.makeAvailable(addedPerBatch)
        val size = scene.read(stream, at, end).size
        at = end
        size
      }
      .take(Batches)
      .toVector
    Evidence.unless(sizes.size < Batches)(s"after $Batches batches there is still another")
    sizes
  }
}
