package io.epochal.rest.source.paging

import java.time.Duration

import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tags.Slow
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.rest.source.window.{WindowApi, WindowFixture}
import io.epochal.support.Examples
import io.epochal.testkit.MicroBatch

/** Any events, however late within the overlap, and any course of a query: each event is delivered once, and a replay is
  * identical.
  */
@Slow
final class TimeWindowPropertySuite extends AnyFunSuite with WindowFixture with ScalaCheckPropertyChecks {

  import TimeWindowPropertySuite._

  private val overlap = 25

  private val steps: Gen[List[Step]] = Gen.listOf(for {
    minutes <- Gen.frequency(2 -> 0, 3 -> Gen.choose(1, 9), 4 -> Gen.choose(10, 35))
    late <- Gen.listOf(Gen.choose(1, overlap))
    limit <- Gen.frequency(3 -> Gen.choose(1L, 12L), 1 -> Long.MaxValue)
    end <- Gen.frequency(4 -> Delivered, 1 -> KilledBeforeLog, 1 -> KilledAfterLog, 1 -> Restarted)
  } yield Step(minutes, late.take(8), limit, end))

  private def ends(kind: String): Seq[(String, String)] =
    if (kind == "link") Seq("endOfList" -> "assumed") else Nil

  private def check(kind: String, size: Int, course: List[Step]): Unit =
    query(kind, Seq("overlap" -> s"${overlap}m", "keyColumns" -> "id,at") ++ ends(kind): _*) { query =>
      query.api.pageSize = size
      var logged = Vector[Offset](query.at)
      var delivered = Vector.empty[Int]
      def restart(): Unit = {
        query.restart()
        logged = logged.map(offset => query.stream.deserializeOffset(offset.json))
      }
      def replay(): Seq[Int] = query.read(logged.last, logged(logged.size - 2))
      def deliver(limit: ReadLimit, end: End): Boolean = {
        val next = MicroBatch.next(query.stream, logged.last, limit)
        next.foreach { offset =>
          if (end == KilledBeforeLog) restart()
          else {
            logged :+= offset
            if (end == KilledAfterLog) restart()
            query.stream.commit(logged(logged.size - 2))
            val rows = replay()
            delivered ++= rows
            if (end == Restarted) restart()
            if (end != Delivered) assert(replay() == rows)
          }
        }
        next.nonEmpty
      }
      course.foreach { step =>
        query.clock.advance(Duration.ofMinutes(step.minutes.toLong))
        // An event is at most `overlap` older than the end of the windows requested so far.
        val end = Duration.between(WindowApi.start, query.clock.instant()).toMinutes / 10 * 10
        step.late.foreach(late => query.event(query.api.events.size, math.max(0L, end - late)))
        val _ = deliver(
          if (step.limit == Long.MaxValue) ReadLimit.allAvailable() else ReadLimit.maxRows(step.limit),
          step.end)
      }
      query.clock.advance(Duration.ofMinutes(60))
      while (deliver(ReadLimit.maxRows(20), Delivered)) {}
      assert(delivered.sorted == query.api.events.map(_.id))
      restart()
      val recent = logged.sliding(2).toVector.takeRight(2)
      val again = recent.collect { case Vector(from, until) => query.read(until, from) }.flatten
      assert(again == delivered.takeRight(again.size))
    }

  WindowApi.kinds.keys.foreach { kind =>
    test(s"windowPagination=$kind: events are delivered once, however late they are and whenever the query is killed") {
      forAll(Gen.choose(1, 5), steps, minSuccessful(Examples.of(10))) { (size, course) =>
        check(kind, if (kind == "offset" || kind == "page") 3 else size, course)
      }
    }
  }
}

private object TimeWindowPropertySuite {

  /** The next step in the life of a query.
    *
    * @param minutes
    *   that pass
    * @param late
    *   new events, by minutes before the end of the last complete window
    * @param limit
    *   of the batch
    * @param end
    *   the outcome of the batch
    */
  final case class Step(minutes: Int, late: List[Int], limit: Long, end: End)

  sealed trait End
  case object Delivered extends End

  /** Killed after the pages were journalled, before an offset was logged. */
  case object KilledBeforeLog extends End

  /** Killed after the offset was logged: the batch is replayed. */
  case object KilledAfterLog extends End

  /** Killed after the batch. */
  case object Restarted extends End
}
