package io.epochal.rest.source.since

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tags.Slow
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.rest.source.SteppedQuery._
import io.epochal.support.Examples

/** Any changes of records, with ties, in any order, and any course of a query over them: each version is delivered once,
  * those of a record in their order, and the last one always.
  */
@Slow
final class SincePropertySuite extends AnyFunSuite with SinceFixture with ScalaCheckPropertyChecks {
  import SincePropertySuite._

  private val steps: Gen[List[Step]] = Gen.listOf(for {
    changes <- Gen.listOf(Gen.zip(Gen.choose(0, 14), Gen.oneOf(0L, 0L, 1L, 7L)))
    limit <- Gen.frequency(3 -> Gen.choose(1L, 8L), 1 -> Long.MaxValue)
    end <- Gen.frequency(4 -> Delivered, 1 -> KilledBeforeLog, 1 -> KilledAfterLog, 1 -> Restarted)
  } yield Step(changes.take(10), limit, end))

  private val byId: Order = _.sortBy(_.id)
  private val byTime: Order = _.sortBy(item => (item.at, item.id))
  private val mixed: Order = _.sortBy(item => (item.id * 7 + item.version * 3) % 11)

  /** Orders that changes keep; where pages belong to a snapshot, any. */
  private def orders(kind: String): Gen[Order] =
    if (kind == "offset" || kind == "page" || kind == "keyset") Gen.const(byId)
    else Gen.oneOf(byTime, byTime.andThen(_.reverse), mixed)

  private def check(query: Query, inclusive: Boolean, course: List[Step]): Unit = {
    val api = query.api
    api.inclusive = inclusive
    var delivered = Vector.empty[(Int, Int)]
    def change(id: Int, seconds: Long): Unit = {
      query.clock.advance(seconds)
      val version = api.lists("a").find(_.id == id).fold(0)(_.version + 1)
      query.put(id, version, query.clock.instant())
    }
    def take(rows: Seq[(Int, Int)]): Unit = {
      delivered ++= rows
      delivered.groupMap(_._1)(_._2).foreach { case (id, versions) =>
        assert(versions == versions.distinct.sorted, s"of $id")
      }
    }
    course.foreach { step =>
      step.changes.foreach { case (id, seconds) => change(id, seconds) }
      query.next(limit(step.limit)).foreach { end =>
        query.deliver(end, step.end) { rows =>
          assert(rows.size <= step.limit)
          take(rows)
        }
      }
    }
    // The first poll completes a pass, the second one has what changed meanwhile.
    take(query.batch())
    take(query.batch())
    val last = delivered.groupMapReduce(_._1)(_._2)(math.max)
    assert(last == api.lists("a").map(item => item.id -> item.version).toMap && query.batch().isEmpty)
  }

  SinceApi.kinds.keys.toSeq.sorted.foreach { kind =>
    test(s"$kind: each version is delivered once, through any course of changes and the query") {
      val all = Gen.zip(orders(kind), Gen.oneOf(true, false), Gen.oneOf("0s", "3s"), steps)
      forAll(all, minSuccessful(Examples.of(10))) { case (order, inclusive, lag, course) =>
        query(kind, "sinceInclusive" -> s"$inclusive", "sinceLag" -> lag) { query =>
          query.api.order = order
          check(query, inclusive, course)
        }
      }
    }
  }
}

private object SincePropertySuite {
  type Order = Seq[Item] => Seq[Item]

  /** The next step in the life of a query.
    *
    * @param changes
    *   the ids of items that change, and the seconds before each change
    */
  final case class Step(changes: List[(Int, Long)], limit: Long, end: End)
}
