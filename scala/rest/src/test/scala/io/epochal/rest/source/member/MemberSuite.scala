package io.epochal.rest.source.member

import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

/** Lists that a parent's records name. */
final class MemberSuite extends AnyFunSuite with MemberFixture {

  (TreeApi.kinds.keySet - "time-window").toSeq.sorted.foreach { kind =>
    test(s"$kind: each list that a parent names is delivered, and continues at its own position") {
      of(kind)("x/a" -> 9, "x/b" -> 0, "y/a" -> 4) { query =>
        val first = query.batch()
        whole(first, query.api, "x/a", "y/a")
        query.api.add("x/a", 1)
        query.api.add("x/b", 5)
        query.api.add("z/new", 8)
        val second = query.batch()
        whole(first ++ second, query.api, "x/a", "x/b", "y/a", "z/new")
        assert(query.batch().isEmpty)
        query.restart()
        query.api.add("y/a", 2)
        assert(query.batch() == Seq("y/a#4", "y/a#5"))
      }
    }
  }

  test("a replayed batch has the same rows, although the parent lists other members and the API is gone") {
    query("x/a" -> 6, "y/b" -> 6) { query =>
      val start = query.at
      val end = query.next().get
      val rows = query.read(end)
      query.api.orgs.clear()
      query.api.status = _ => 500
      query.restart()
      assert(query.read(query.stream.deserializeOffset(end.json), start) == rows && rows.size == 12)
    }
  }

  test("what was received and not logged is requested again from the logged positions") {
    query("x/a" -> 6) { query =>
      assert(query.batch().size == 6)
      query.api.add("x/a", 3)
      query.api.add("x/b", 3)
      val lost = query.next().get
      query.restart()
      val again = query.batch()
      whole(query.api.ids("x/a").take(6) ++ again, query.api, "x/a", "x/b")
      assert(lost.json != query.at.json)
    }
  }

  test("files that an earlier run did not log are removed by the next one") {
    query("x/a" -> 6) { query =>
      assert(query.batch().size == 6)
      query.api.add("x/a", 3)
      query.next(): Unit
      val (rows, log) = (query.files("journal"), query.files("journal/members"))
      query.restart()
      query.api.add("x/a", 1)
      assert(query.batch().size == 4)
      val (rowsNow, logNow) = (query.files("journal"), query.files("journal/members"))
      assert(rows.count(_.endsWith(".seg")) == rowsNow.count(_.endsWith(".seg")) && log.size == logNow.size)
    }
  }

  test("offsets do not grow with the members, nor the files with the batches", Slow) {
    of("cursor", "maxConcurrency" -> "8")((0 until 300).map(i => s"x/repo$i" -> 1): _*) { query =>
      assert(query.batch().size == 300)
      val first = query.at.json.length
      val sizes = (0 until 60).map { i =>
        query.api.add(s"x/repo$i", 1)
        assert(query.batch() == Seq(s"x/repo$i#1"))
        query.at.json.length
      }
      assert(first < 1000 && sizes.max < 5000)
      assert(query.files("journal/members").size < 40)
      query.restart()
      query.api.add("x/repo7", 1)
      assert(query.batch() == Seq("x/repo7#2"))
    }
  }

  test("a member that is no longer listed keeps its position, and is not polled") {
    query("x/a" -> 5, "x/b" -> 5) { query =>
      assert(query.batch().size == 10)
      query.api.orgs.update("x", Vector("b"))
      assert(query.batch().isEmpty)
      query.api.add("x/b", 1)
      query.api.counts.update("x/a", 8)
      assert(query.batch() == Seq("x/b#5"))
      query.api.requests(): Unit
      assert(query.batch().isEmpty && !query.api.paths().exists(_.startsWith("/items/x/a")))
      query.restart()
      assert(query.batch().isEmpty)
      query.api.orgs.update("x", Vector("a", "b"))
      assert(query.batch() == Seq("x/a#5", "x/a#6", "x/a#7"))
    }
  }

  test("a limit of a batch is shared among the lists, and none is left out") {
    of("cursor", "maxConcurrency" -> "1")("x/a" -> 40, "x/b" -> 40, "x/c" -> 4, "x/d" -> 40) { query =>
      val batches = Iterator.continually(query.batch(ReadLimit.maxRows(16))).takeWhile(_.nonEmpty).toVector
      assert(batches.forall(_.size <= 16))
      whole(batches.flatten, query.api, "x/a", "x/b", "x/c", "x/d")
      val early = batches.take(3).flatten.groupBy(_.takeWhile(_ != '#')).map { case (repo, ids) => repo -> ids.size }
      assert(early.keySet == Set("x/a", "x/b", "x/c", "x/d") && early.values.max <= 20, early)
    }
  }

  test("values are encoded in the path, parameters, headers and the body") {
    of("cursor", "headers.X-Owner" -> "o ${owner}", "params.q" -> "${repo}&${owner}")("x ü/a?b" -> 1) { query =>
      assert(query.batch() == Seq("x ü/a?b#0"))
      val (path, headers) = query.api.requests().find(_._1.startsWith("/items")).get
      assert(path.startsWith("/items/x%20%C3%BC/a%3Fb?q=a%3Fb%26x%20%C3%BC"))
      assert(headers("x-owner") == "o x %c3%bc")
    }
  }

  test("a list that is gone is skipped and counted, and returns") {
    query("x/a" -> 2, "x/b" -> 2) { query =>
      query.api.status = path => if (path.endsWith("/b")) 404 else 200
      assert(query.batch() == Seq("x/a#0", "x/a#1"))
      assert(query.metric("members") == "2" && query.metric("membersGone") == "1")
      query.api.status = path => if (path.endsWith("/a")) 410 else 200
      assert(query.batch() == Seq("x/b#0", "x/b#1"))
      assert(query.metric("membersGone") == "1")
    }
    of("cursor", "onMemberGone" -> "fail")("x/a" -> 2, "x/b" -> 2) { query =>
      query.api.status = path => if (path.endsWith("/b")) 404 else 200
      query.batch(): Unit
      val error = failure(query.batch())
      assert(error.condition.name == "HTTP_STATUS" && error.getMessage.contains("/items/x/b"))
    }
  }

  test("404 is an error as long as no list has ever answered, also after a restart") {
    query("x/a" -> 2, "x/b" -> 2) { query =>
      query.api.status = path => if (path.startsWith("/items")) 404 else 200
      (0 to 1).foreach { _ =>
        assert(failure(query.batch()).condition.name == "HTTP_STATUS")
        query.restart()
      }
      query.api.status = path => if (path.startsWith("/items/x/a")) 404 else 200
      assert(query.batch().size == 2)
      query.api.status = path => if (path.startsWith("/items")) 404 else 200
      query.restart()
      assert(query.batch().isEmpty && query.metric("membersGone") == "2")
    }
  }

  test("a failing list does not hold back the rows of others, and is reported next") {
    of("cursor", "retry.maxAttempts" -> "1", "maxConcurrency" -> "1")("x/a" -> 2, "x/b" -> 2) { query =>
      query.api.status = path => if (path.endsWith("/b")) 500 else 200
      assert(query.batch() == Seq("x/a#0", "x/a#1"))
      assert(failure(query.batch()).getMessage.contains("/items/x/b"))
      query.api.status = _ => 200
      query.restart()
      assert(query.batch() == Seq("x/b#0", "x/b#1"))
    }
  }

  test("a server whose pages are smaller than requested is noticed") {
    of("page", "pageSize" -> "10")("x/a" -> 30) { query =>
      query.api.largest = 5
      assert(failure(query.batch()).condition.name == "PAGINATION_MISMATCH")
    }
  }

  test("a poll of an idle list is one conditional request, also after a restart") {
    query("x/a" -> 3, "x/b" -> 4) { query =>
      assert(query.batch().size == 7)
      (0 to 1).foreach { _ =>
        query.api.requests(): Unit
        assert(query.batch().isEmpty)
        val items = query.api.requests().filter(_._1.startsWith("/items"))
        assert(items.size == 2 && items.forall(_._2.contains("if-none-match")))
        query.restart()
      }
    }
  }

  test("a record may lack a value that is in no request") {
    of("cursor", "parent.fields" -> "owner=/owner/login,none=/none,repo=/name", "paramColumns" -> "none")("x/a" -> 1) {
      query => assert(query.batch() == Seq("x/a#0"))
    }
  }

  test("AvailableNow reads time windows up to now, however many have no records", Slow) {
    of("time-window")("x/a" -> 1) { query =>
      query.api.moments.update("x/a#0", 4000000L)
      query.clock.advance(5000)
      query.stream.prepareForTriggerAvailableNow()
      assert(query.batch() == Seq("x/a#0"))
    }
  }

  test("a record of the parent without a usable value fails, with its place") {
    Seq("/owner/none" -> "no value", "/owner" -> "an OBJECT").foreach { case (pointer, found) =>
      of("cursor", "parent.fields" -> s"owner=$pointer,repo=/name")("x/a" -> 1) { query =>
        val error = failure(query.batch())
        assert(
          error.condition.name == "PARENT_FIELD_INVALID" && error.getMessage.contains(found) && error.getMessage
            .contains("${owner}"))
      }
    }
    Seq("x/..", "x/.", "x/").foreach { repo =>
      query(repo -> 1)(query => assert(failure(query.batch()).condition.name == "PARENT_FIELD_INVALID"))
    }
  }

  test("pages that lead back to an earlier one are noticed, also over several batches") {
    of("cursor", "nextCursor" -> "/again", "maxConcurrency" -> "1")("x/a" -> 30) { query =>
      query.api.loops = true
      val error = failure((0 to 50).foreach(_ => query.batch(ReadLimit.maxRows(4))))
      assert(error.condition.name == "PAGINATION_LOOP")
    }
  }

  test(
    "a list that never ends leaves the others their turns, with one connection, over polls that end with its first page") {
    val small = (0 until 20).map(n => f"x/s$n%02d" -> 1)
    of("cursor", "maxConcurrency" -> "1", "parent.refreshInterval" -> "1h")(("x/big" -> 4) +: small: _*) { query =>
      query.api.before = path => if (path.endsWith("big")) query.api.add("x/big", 4)
      val rows = Iterator.continually(query.batch(ReadLimit.maxRows(4))).take(40).flatten.toVector
      val counts = rows.groupBy(_.takeWhile(_ != '#'))
      assert(small.forall { case (repo, _) => counts.get(repo).exists(_.size == 1) }, counts.keySet)
    }
  }

  test("a list of many pages leaves the others their turns after its first one, with one connection, within one poll") {
    val small = (0 until 20).map(n => f"x/s$n%02d" -> 1)
    of("cursor", "maxConcurrency" -> "1")(("x/big" -> 40) +: small: _*) { query =>
      assert(query.batch().size == 60)
      val lists = query.api.paths().filter(_.startsWith("/items")).map(_.takeWhile(_ != '?').split('/').last)
      assert(lists.take(21).toSet.size == 21 && lists.drop(21).toSet == Set("big"), lists)
    }
  }

  test("the rows of a batch come from all lists that have some, and not from the first one that a parent names") {
    val small = (0 until 76).map(n => f"x/s$n%02d" -> 3)
    Seq("1", "2").foreach { connections =>
      of("cursor", "maxConcurrency" -> connections)(("x/big" -> 1000) +: small: _*) { query =>
        // Pages of the big list would come faster than those of the parent.
        query.api.before = path => if (path == "/repos") Thread.sleep(20)
        val rows = query.batch(ReadLimit.maxRows(300))
        val big = rows.count(_.startsWith("x/big"))
        assert(rows.size == 300 && big <= 80, s"$big of ${rows.size}")
        assert(rows.map(_.takeWhile(_ != '#')).toSet.size == 77)
      }
    }
  }
}
