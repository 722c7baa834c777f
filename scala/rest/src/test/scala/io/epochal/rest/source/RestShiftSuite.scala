package io.epochal.rest.source

import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.core.error.EpochalException
import io.epochal.support.Examples

/** Lists in which records before the position are deleted or inserted. */
final class RestShiftSuite extends AnyFunSuite with CountedFixture with ScalaCheckPropertyChecks {

  final private class Shifting(api: RecordsApi, options: Seq[(String, String)]) extends Query(api, options) {
    var ids: Vector[Int] = Vector.empty
    var text: Int => String = id => s"""{"id":$id,"name":"record $id"}"""
    api.record = i => text(ids(i))
    if (options.exists(_._1 == "totalCount")) api.body = array => s"""{"total":${ids.size},"data":$array}"""

    def become(list: Seq[Int]): Unit = {
      ids = list.toVector
      api.count = ids.size
    }
  }

  private def shifting(options: (String, String)*)(body: Shifting => Any): Unit =
    RecordsApi.using(0) { api =>
      val _ = body(new Shifting(api, options))
    }

  private def shifted(body: => Any): EpochalException = {
    val error = intercept[EpochalException] { val _ = body }
    assert(error.condition.name == "LIST_SHIFTED", error)
    error
  }

  private val total = Seq("totalCount" -> "/total", "records" -> "/data")
  test("a list whose records shift is detected, though it is no shorter, also after a restart") {
    Seq(true, false).foreach { restarted =>
      shifting("pagination" -> "page", "pageSize" -> "10") { query =>
        query.become(0 until 25)
        assert(query.batch() == (0 until 25))
        if (restarted) query.restart()
        query.become(-1 +: (0 until 25))
        assert(shifted(query.batch()).getMessage.matches("(?s).*Record 24 of .*"))
      }
    }
  }

  private val large = 0 until 2400
  private def without20(list: Seq[Int]): Seq[Int] = list.filterNot(id => id >= 100 && id < 120)
  private def with5(list: Seq[Int]): Seq[Int] = (-5 to -1) ++ list

  test("with a journal, deletions before a position on a page boundary are noticed at the next start") {
    shifting("pagination" -> "offset", "journal" -> "true", "verifyPosition" -> "always") { query =>
      query.become(large)
      assert(Seq(600, 600).flatMap(n => query.batch(ReadLimit.maxRows(n.toLong))) == (0 until 1200))
      query.restart()
      query.become(without20(large))
      shifted(query.batch(ReadLimit.maxRows(1200)))
    }
  }

  test("deletions while a query reads its backlog are noticed by a total, before a batch") {
    shifting(("pagination" -> "offset") +: total: _*) { query =>
      query.become(large)
      assert(query.batch(ReadLimit.maxRows(600)) == (0 until 600))
      query.become(without20(large))
      assert(shifted(query.next(ReadLimit.maxRows(600))).getMessage.contains("Record 599 of"))
    }
  }

  test("deletions before a planned batch are noticed by the start that replays it") {
    shifting("pagination" -> "offset") { query =>
      query.become(large)
      query.batch(ReadLimit.maxRows(600))
      val end = query.next(ReadLimit.maxRows(600)).get
      query.restart()
      query.become(without20(large))
      shifted(query.read(query.stream.deserializeOffset(end.json)))
    }
  }

  test(
    "a start that replays a batch of an unchanged list requests one page more to verify it, and none with verifyPosition=never") {
    val requests = Seq("start", "never").map { mode =>
      var found = 0
      shifting("pagination" -> "offset", "verifyPosition" -> mode) { query =>
        query.become(large)
        assert(query.batch(ReadLimit.maxRows(600)).size == 600)
        val end = query.next(ReadLimit.maxRows(600)).get
        query.restart()
        query.api.requests()
        val rows = query.read(query.stream.deserializeOffset(end.json))
        assert(rows == (600 until 1200))
        found = query.api.requests().size
      }
      found
    }
    assert(requests == Seq(8, 7))
  }

  test(
    "a replay of a batch that no longer fits its list: onDrift=warn delivers it, onDrift=restart reads the list again after it") {
    def replayed(drift: String)(rest: (Shifting, Seq[Int]) => Any) =
      shifting("pagination" -> "offset", "onDrift" -> drift) { query =>
        query.become(large)
        assert(query.batch(ReadLimit.maxRows(600)).size == 600)
        val end = query.next(ReadLimit.maxRows(600)).get
        query.restart()
        query.become(without20(large))
        query.at = query.stream.deserializeOffset(end.json)
        rest(
          query,
          query.read(
            end,
            query.stream.deserializeOffset(RestOffset.toJson(RestStreams.sourceOf(end), RestPosition.Planned(600)))))
      }
    replayed("warn")((query, rows) => assert(rows == (620 until 1220) && query.batch() == (1220 until 2400)))
    replayed("restart")((query, rows) => assert(rows == (620 until 1220) && query.batch() == without20(large)))
  }

  test("verifyPosition=always notices insertions in a running query, and never loses and repeats records") {
    def second(mode: String, change: Seq[Int] => Seq[Int]) = (query: Shifting) => {
      query.become(large)
      assert(query.batch(ReadLimit.maxRows(1200)) == (0 until 1200))
      if (mode == "never") query.restart()
      query.become(change(large))
      query.batch(ReadLimit.maxRows(1200))
    }
    def reading(mode: String)(body: Shifting => Any): Unit =
      shifting("pagination" -> "page", "verifyPosition" -> mode)(body)
    reading("always")(query => shifted(second("always", with5)(query)))
    reading("always")(query => shifted(second("always", without20)(query)))
    reading("start")(query => assert(second("start", with5)(query).head == 1195))
    reading("never")(query => assert(second("never", with5)(query).take(6) == (1195 to 1200)))
    reading("never")(query => assert(second("never", without20)(query).head == 1220))
  }

  test("onDrift=warn resumes from there, and onDrift=restart reads the list again, once") {
    shifting("pagination" -> "offset", "pageSize" -> "10", "onDrift" -> "warn") { query =>
      query.become(0 until 25)
      assert(query.batch().size == 25)
      query.become(-1 +: (0 until 27))
      assert(query.batch() == (24 until 27) && query.batch().isEmpty)
      query.restart("onDrift" -> "fail")
      assert(query.batch().isEmpty)
    }
    shifting("pagination" -> "page", "pageSize" -> "10", "onDrift" -> "restart") { query =>
      query.become(0 until 25)
      assert(query.batch().size == 25)
      query.become(-1 +: (0 until 27))
      assert(query.batch() == (-1 until 27) && query.at.json.contains("\"crawl\":1"))
      assert(query.batch().isEmpty)
      query.restart()
      assert(query.batch().isEmpty)
    }
  }

  test("white space, field order and escapes do not change a record's identity") {
    shifting("pagination" -> "offset", "pageSize" -> "10") { query =>
      query.become(0 until 25)
      assert(query.batch().size == 25)
      query.text = id => s"""{ "name" : "r\\u0065cord $id", "id":$id }"""
      query.become(0 until 26)
      assert(query.batch() == Seq(25))
    }
  }

  test("a last record that changes in place is identified by keyField, which may be set later") {
    shifting("pagination" -> "offset", "pageSize" -> "10") { query =>
      query.become(0 until 25)
      assert(query.batch().size == 25)
      query.text = id => s"""{"id":$id,"name":"another"}"""
      val message = shifted(query.batch()).getMessage
      assert(message.contains("or the record itself changed or gained a field.") && message.contains("keyField=/id"))
      query.restart("keyField" -> "/id")
      query.become(0 until 27)
      assert(query.batch() == Seq(25, 26))
      query.text = id => s"""{"id":$id,"name":"a third"}"""
      assert(query.batch().isEmpty)
      query.become((1 until 27) :+ 99)
      val keyed = shifted(query.batch()).getMessage
      assert(keyed.contains("or its '/id' changed.") && !keyed.contains("keyField"))
    }
  }

  test("offsets without marks are resumed, and get one") {
    shifting("pagination" -> "page", "pageSize" -> "10") { query =>
      query.become(0 until 25)
      val source = RestStreams.sourceOf(query.stream.initialOffset())
      query.at = query.stream.deserializeOffset(RestOffset.toJson(source, RestPosition.Planned(12)))
      assert(query.batch() == (12 until 25) && query.at.json.contains("\"marks\":[{\"record\":24,"))
    }
  }

  test("a list that only grows is never taken for a shifted one, and costs no more requests", Slow) {
    val steps = Gen.listOf(Gen.zip(Gen.choose(0, 25), Gen.choose(1L, 30L), Gen.oneOf(true, false)))
    Seq("none", "offset", "page").foreach { kind =>
      forAll(Gen.choose(1, 9), steps, Gen.oneOf(true, false), minSuccessful(Examples.of(15))) {
        (size, course, journal) =>
          val options = Seq("pagination" -> kind, "journal" -> s"$journal") ++
            Option.when(kind != "none")("pageSize" -> s"$size")
          shifting(options: _*) { query =>
            val delivered = course.flatMap { case (growth, limit, restarted) =>
              query.become(0 until query.ids.size + growth)
              if (restarted) query.restart()
              query.batch(ReadLimit.maxRows(limit))
            } ++ Iterator.continually(query.batch()).takeWhile(_.nonEmpty).flatten
            assert(delivered == query.ids)
            (1 to 2).foreach(_ => query.batch())
            query.api.requests()
            assert(query.batch().isEmpty && query.api.requests().size == 1)
          }
      }
    }
  }
}
