package io.epochal.rest.source.member

import java.util.concurrent.atomic.AtomicInteger

import scala.util.Random

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tags.Slow
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.core.error.EpochalException
import io.epochal.rest.source.MissingPage
import io.epochal.rest.source.SteppedQuery._
import io.epochal.support.Examples

/** Any lists below parents that change, and any course of a query over them: each record is delivered once. One list loses
  * records anywhere, which no position but a key survives: the others are whole.
  */
@Slow
final class MemberPropertySuite extends AnyFunSuite with MemberFixture with ScalaCheckPropertyChecks {
  import MemberPropertySuite._

  private val numbers = Gen.frequency(3 -> Gen.const(0), 2 -> Gen.choose(1, 12))
  private val some = Gen.someOf(Repos).map(_.toSet)

  private val steps: Gen[List[Step]] = Gen.listOf(for {
    grow <- Gen.listOfN(Repos.size, numbers)
    hidden <- Gen.frequency(3 -> Gen.const(Nil), 1 -> Gen.listOfN(Repos.size, numbers))
    limit <- Gen.frequency(3 -> Gen.choose(1L, 12L), 1 -> Long.MaxValue)
    listed <- some
    again <- some
    order <- Gen.choose(0L, Long.MaxValue)
    gone <- Gen.frequency(3 -> Gen.const(Set.empty[String]), 1 -> Gen.someOf(Repos ++ Orgs).map(_.toSet))
    failures <- Gen.frequency(5 -> 0, 1 -> Gen.choose(1, 3))
    seconds <- Gen.frequency(5 -> Gen.choose(0L, 60L), 1 -> Gen.choose(1000L, 3000L))
    during <- Gen.mapOf(Gen.zip(Gen.choose(1, 20), Gen.oneOf(Repos)))
    deleted <- Gen.frequency(3 -> Gen.const(Nil), 1 -> Gen.listOf(Gen.choose(0, 40)))
    end <- Gen.frequency(4 -> Delivered, 1 -> KilledBeforeLog, 1 -> KilledAfterLog)
  } yield Step(grow, hidden, limit, listed, again, order, gone, failures, seconds, during, deleted, end))

  /** Runs a course, and takes the ids of each batch. */
  private def run(query: Query, course: List[Step], kind: String)(take: Seq[String] => Unit): Unit = {
    val api = query.api
    def grow(repo: String, records: Int): Unit = (0 until records).foreach { _ =>
      // The time first: a record is listed when it is counted.
      api.synchronized {
        val n = api.counts.getOrElse(repo, 0)
        api.moments.update(s"$repo#$n", query.clock.millis)
        api.counts.update(repo, n + 1)
      }
    }
    def begins(): Unit = {
      list(api, Repos)
      api.order = identity
      api.hidden.clear()
      api.before = _ => ()
      api.status = _ => 200
      query.clock.advance(20)
    }
    // A list must have answered before others may be gone.
    grow(Repos.head, 1)
    begins()
    take(query.batch())
    course.foreach { step =>
      query.clock.advance(step.seconds)
      Repos.zip(step.grow).foreach { case (repo, n) => grow(repo, n) }
      list(api, step.listed)
      api.order = all => new Random(step.order).shuffle(all ++ all.filter(step.again))
      api.hidden.clear()
      // What is not there when its window is read is never delivered.
      if (kind != "time-window") api.hidden ++= Repos.zip(step.hidden)
      api.deleted.update(Shifting, api.deleted.getOrElse(Shifting, Set.empty) ++ step.deleted)
      val requests = new AtomicInteger
      api.before = _ => step.during.get(requests.incrementAndGet()).foreach(grow(_, 1))
      val failures = Iterator.fill(step.failures)(503) ++ Iterator.continually(200)
      api.status = path =>
        if (step.gone.exists(one => path == s"/items/$one" || path == s"/repos?org=$one")) 404
        else failures.synchronized(failures.next())
      // Between two requests of a list that returns, or is gone, an error is right: the query is started again.
      val next =
        try query.next(limit(step.limit))
        catch {
          case error: EpochalException if MissingPage.reportedBy(error) =>
            query.restart()
            None
        }
      next.foreach { end =>
        query.deliver(end, step.end) { rows =>
          assert(rows.size <= step.limit)
          take(rows)
        }
      }
    }
    begins()
    query.restart()
    take(query.batch())
    assert(query.batch().isEmpty)
  }

  private def list(api: TreeApi, repos: Iterable[String]): Unit = {
    api.orgs.clear()
    repos.groupBy(_.takeWhile(_ != '/')).foreach { case (org, names) =>
      api.orgs.update(org, names.map(_.drop(org.length + 1)).toVector)
    }
  }

  private def check(query: Query, course: List[Step], kind: String): Unit = {
    val api = query.api
    var delivered = Vector.empty[String]
    def of(repo: String) = delivered.filter(_.startsWith(s"$repo#"))
    run(query, course, kind) { rows =>
      delivered ++= rows
      Whole.foreach { repo =>
        val ours = of(repo)
        assert(ours == api.ids(repo).take(ours.size))
      }
    }
    Whole.foreach(repo => assert(of(repo) == api.ids(repo)))
    if (kind == "keyset") {
      val ours = of(Shifting).map(_.dropWhile(_ != '#').drop(1).toInt)
      assert(ours == ours.distinct.sorted)
      val kept = (0 until api.counts.getOrElse(Shifting, 0)).filterNot(api.deleted.getOrElse(Shifting, Set.empty))
      assert(kept.toSet.subsetOf(ours.toSet))
    }
  }

  private def test(name: String, kind: String)(options: TreeApi => Map[String, String]): Unit =
    test(s"$name: each record is delivered once, through any course of parents, lists and the query") {
      forAll(steps, minSuccessful(Examples.of(20)), sizeRange(30)) { course =>
        TreeApi.using { api =>
          val query = started(api, kind, (options(api) + ("failOnDataLoss" -> "false")).toSeq: _*)
          try check(query, course, kind)
          finally query.stream.stop()
        }
      }
    }

  TreeApi.kinds.keys.toSeq.sorted.foreach(kind => test(kind, kind)(_ => Map.empty))
  test("three levels", "cursor")(TreeApi.three)
}

private object MemberPropertySuite {

  val Repos: Seq[String] = Seq("x/a", "x/b", "y/a", "y/d", "z/c", "z/e")
  val Orgs: Seq[String] = Seq("x", "y", "z")

  /** The list from which records are deleted. */
  val Shifting = "x/b"
  val Whole: Seq[String] = Repos.filter(_ != Shifting)

  /** The next step in the life of a query.
    *
    * @param grow
    *   records that each list gets first
    * @param hidden
    *   records at the end of each list that are not served
    * @param listed
    *   what the parents list, in an order by the seed `order`, and `again` what they list twice
    * @param gone
    *   lists that answer 404
    * @param seconds
    *   that pass before it
    * @param during
    *   lists that get a record at a request, by its number
    * @param deleted
    *   records that [[Shifting]] loses
    */
  final case class Step(
      grow: List[Int],
      hidden: List[Int],
      limit: Long,
      listed: Set[String],
      again: Set[String],
      order: Long,
      gone: Set[String],
      failures: Int,
      seconds: Long,
      during: Map[Int, String],
      deleted: List[Int],
      end: End)
}
