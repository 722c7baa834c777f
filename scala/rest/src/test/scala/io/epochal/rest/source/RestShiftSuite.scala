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
  private val kinds = for {
    (name, kind) <- Seq("none" -> Nil, "offset" -> Seq("pageSize" -> "10"), "page" -> Seq("pageSize" -> "10"))
    (more, options) <- Seq("" -> Nil, " with a total" -> total, " with a journal" -> Seq("journal" -> "true"))
    if name != "none" || more != " with a total"
  } yield (s"$name$more", ("pagination" -> name) +: (kind ++ options))

  kinds.foreach { case (name, options) =>
    val tags = if (name.contains("journal")) Seq(Slow) else Nil
    test(s"$name: a list whose records shift is detected, though it is no shorter, also after a restart", tags: _*) {
      Seq[Seq[Int] => Seq[Int]](
        _.filterNot(_ == 3) ++ Seq(100, 101), // one deleted, two added
        list => -1 +: list, // one inserted
        list => list.take(20) ++ Seq(-1) ++ list.drop(20)
      ).foreach { change =>
        Seq(true, false).foreach { restarted =>
          shifting(options: _*) { query =>
            // With a total, the last record is seen if it is in the page of the last delivered one.
            val delivered = Seq(22, 25).flatMap { count =>
              query.become(0 until count)
              query.batch()
            }
            assert(delivered == (0 until 25))
            if (restarted) query.restart()
            query.become(change(0 until 25))
            assert(shifted(query.batch()).getMessage.matches("(?s).*Record 2[14] of .*"))
          }
        }
      }
    }
  }

  Seq("offset", "page").foreach { kind =>
    test(s"$kind: a shift before a position on a page boundary is detected when the list is idle") {
      shifting("pagination" -> kind, "pageSize" -> "10") { query =>
        query.become(0 until 30)
        assert(query.batch() == (0 until 30))
        query.restart()
        query.become((0 until 30).filterNot(_ == 3) ++ Seq(100, 101))
        assert(query.batch() == Seq(101)) // 100 took the place of a delivered record.
        shifted(query.batch())
      }
    }
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
      query.at = query.stream.deserializeOffset(RestOffset.toJson(source, RestPosition(12)))
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
