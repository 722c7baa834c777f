package io.epochal.rest.source.member

import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tags.Slow
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.support.Examples

/** Any growing lists below parents that change, and any course of a query over them: each record is delivered once. */
@Slow
final class MemberPropertySuite extends AnyFunSuite with MemberFixture with ScalaCheckPropertyChecks {
  import MemberPropertySuite._

  private val steps: Gen[List[Step]] = Gen.listOf(for {
    grow <- Gen.listOfN(Repos.size, Gen.frequency(3 -> 0, 2 -> Gen.choose(1, 12)))
    limit <- Gen.frequency(3 -> Gen.choose(1L, 12L), 1 -> Long.MaxValue)
    listed <- Gen.someOf(Repos).map(_.toSet)
    gone <- Gen.frequency(3 -> Gen.const(Set.empty[String]), 1 -> Gen.someOf(Repos).map(_.toSet))
    failures <- Gen.frequency(5 -> 0, 1 -> Gen.choose(1, 3))
    end <- Gen.frequency(4 -> Delivered, 1 -> KilledBeforeLog, 1 -> KilledAfterLog)
  } yield Step(grow, limit, listed, gone, failures, end))

  private def list(api: TreeApi, repos: Iterable[String]): Unit = {
    api.orgs.clear()
    repos.groupBy(_.takeWhile(_ != '/')).foreach { case (org, names) =>
      api.orgs.update(org, names.map(_.drop(org.length + 1)).toVector)
    }
  }

  private def check(query: Query, course: List[Step]): Unit = {
    val api = query.api
    var delivered = Vector.empty[String]
    def take(rows: Seq[String]): Unit = {
      delivered ++= rows
      Repos.foreach { repo =>
        val ours = delivered.filter(_.startsWith(s"$repo#"))
        assert(ours == api.ids(repo).take(ours.size))
      }
    }
    def begins(): Unit = {
      list(api, Repos)
      api.status = _ => 200
    }
    // A list must have answered before others may be gone.
    begins()
    api.counts.update(Repos.head, 1)
    take(query.batch())
    course.foreach { step =>
      Repos.zip(step.grow).foreach { case (repo, n) =>
        api.counts.updateWith(repo)(before => Some(before.getOrElse(0) + n))
      }
      list(api, step.listed)
      val failures = Iterator.fill(step.failures)(503) ++ Iterator.continually(200)
      api.status =
        path => if (step.gone.exists(repo => path == s"/items/$repo")) 404 else failures.synchronized(failures.next())
      val limit = if (step.limit == Long.MaxValue) ReadLimit.allAvailable() else ReadLimit.maxRows(step.limit)
      query.next(limit).foreach { end =>
        if (step.end == KilledBeforeLog) query.restart()
        else {
          val start: Offset = query.at
          if (step.end == KilledAfterLog) query.restart()
          val logged = query.stream.deserializeOffset(end.json)
          query.stream.commit(query.at)
          val rows = query.read(logged)
          assert(rows.size <= step.limit)
          take(rows)
          if (step.end == KilledAfterLog) assert(query.read(logged, query.stream.deserializeOffset(start.json)) == rows)
          query.at = logged
        }
      }
    }
    begins()
    query.restart()
    take(query.batch())
    assert(delivered.size == api.counts.values.sum)
  }

  TreeApi.kinds.keys.toSeq.sorted.foreach { kind =>
    test(s"$kind: each record is delivered once, through any course of parents, lists and the query") {
      forAll(steps, minSuccessful(Examples.of(10)))(course => of(kind)()(check(_, course)))
    }
  }
}

private object MemberPropertySuite {

  val Repos: Seq[String] = Seq("x/a", "x/b", "y/a", "z/c")

  /** The next step in the life of a query.
    *
    * @param grow
    *   records that each list gets first
    * @param listed
    *   what the parent lists
    * @param gone
    *   lists that answer 404
    */
  final case class Step(grow: List[Int], limit: Long, listed: Set[String], gone: Set[String], failures: Int, end: End)

  sealed trait End
  case object Delivered extends End
  case object KilledBeforeLog extends End
  case object KilledAfterLog extends End
}
