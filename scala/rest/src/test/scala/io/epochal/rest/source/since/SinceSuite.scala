package io.epochal.rest.source.since

import java.time.{Duration, Instant, LocalDate, ZoneOffset}

import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import io.epochal.rest.source.{ChainedPagination, RestOptions}

/** Records that change: each version is delivered once. */
final class SinceSuite extends AnyFunSuite with SinceFixture {

  private def zero(ids: Int*): Seq[(Int, Int)] = ids.map(_ -> 0)

  SinceApi.kinds.keys.toSeq.sorted.foreach { kind =>
    test(s"$kind: a record that changes is delivered again, and no other, also after a restart") {
      query(kind) { query =>
        query.change(0, 0 until 10: _*)
        assert(query.batch().sorted == zero(0 until 10: _*) && query.batch().isEmpty)
        query.change(1, 3)
        query.change(0, 10)
        assert(query.batch().sorted == Seq(3 -> 1, 10 -> 0) && query.batch().isEmpty)
        query.restart()
        assert(query.batch().isEmpty)
        query.change(2, 3, 4)
        assert(query.batch().sorted == Seq(3 -> 2, 4 -> 2))
      }
    }

    test(s"$kind: a pass continues at its page after each batch and each restart, and requests one value throughout") {
      query(kind, "sinceStart" -> "2024-01-01") { query =>
        query.api.order = _.sortBy(item => (item.id * 7) % 11)
        query.change(0, 0 until 11: _*)
        val rows = (0 to 3).flatMap { _ =>
          val rows = query.batch(ReadLimit.maxRows(3))
          query.restart()
          rows
        }
        assert(rows.sorted == zero(0 until 11: _*))
        assert(query.batch().isEmpty)
        val values = query.api.requests().map(_.drop(2).takeWhile(_ != '#'))
        assert(values.toSet == Set("2024-01-01T00:00:00Z", "2024-01-01T12:00:11Z") && values == values.sorted)
      }
    }
  }

  test("the first poll requests everything, or from sinceStart") {
    query("none") { query =>
      query.change(0, 1)
      assert(query.batch() == zero(1) && query.api.requests() == Seq("a?#0"))
    }
    query("none", "sinceStart" -> "2024-01-01T12:00:02Z") { query =>
      query.change(0, 1, 2, 3)
      assert(query.batch() == zero(2, 3) && query.api.requests() == Seq("a?2024-01-01T12:00:02Z#0"))
    }
  }

  test("later records with the greatest value are delivered, and each of their versions once") {
    Seq(true, false).foreach { inclusive =>
      query("offset", "sinceInclusive" -> s"$inclusive") { query =>
        query.api.inclusive = inclusive
        def put(id: Int, version: Int) = query.put(id, version, moment(5))
        query.clock.advance(60)
        put(1, 0)
        assert(query.batch() == zero(1))
        put(2, 0)
        assert(query.batch() == zero(2))
        put(1, 1)
        query.restart()
        assert(query.batch() == Seq(1 -> 1) && query.batch().isEmpty)
        // The first content again is a change, too.
        put(1, 0)
        assert(query.batch() == Seq(1 -> 0) && query.batch().isEmpty)
        query.restart()
        assert(query.batch().isEmpty)
        val asked = if (inclusive) 5 else 4
        val later = query.api.requests().filterNot(_.startsWith("a?#"))
        assert(later.nonEmpty && later.forall(_.startsWith(s"a?${moment(asked.toLong)}#")))
      }
    }
  }

  test("a change behind the position of an unsorted pass arrives with the next one") {
    query("keyset") { query =>
      query.change(0, 0 until 9: _*)
      assert(query.batch(ReadLimit.maxRows(6)) == zero(0 until 6: _*))
      query.restart()
      query.change(1, 2, 8)
      assert(query.batch() == Seq(6 -> 0, 7 -> 0, 8 -> 1))
      assert(query.batch() == Seq(2 -> 1) && query.batch().isEmpty)
    }
  }

  test("with sinceLag, records that appear late are delivered, and later ones than that are not") {
    query("cursor", "sinceLag" -> "10s") { query =>
      query.api.hidden = item => item.id >= 100
      (0 until 30).foreach(n => query.put(n, 0, moment(n.toLong)))
      query.put(100, 0, moment(20))
      query.put(101, 0, moment(10))
      query.clock.advance(60)
      assert(query.batch() == zero(0 until 30: _*))
      query.restart()
      assert(query.batch().isEmpty && query.api.requests().last.startsWith(s"a?${moment(19)}#"))
      query.api.hidden = _ => false
      assert(query.batch() == zero(100) && query.batch().isEmpty)
    }
  }

  test("a sinceLag that is raised or lowered between runs delivers nothing twice") {
    query("page") { query =>
      query.change(0, 0 until 20: _*)
      assert(query.batch().size == 20)
      Seq("1h", "1m", "0s", "20s").foreach { lag =>
        query.restart("sinceLag" -> lag)
        assert(query.batch().isEmpty)
        query.change(lag.length, 5)
        assert(query.batch() == Seq(5 -> lag.length))
      }
    }
  }

  test("a replayed batch has the same rows, although records have changed and the API is gone") {
    query("cursor") { query =>
      query.change(0, 0 until 7: _*)
      val (start, end) = (query.at, query.next().get)
      val rows = query.read(end)
      query.change(1, 0 until 7: _*)
      query.api.status = 500
      query.restart()
      assert(query.read(query.stream.deserializeOffset(end.json), start) == rows && rows.size == 7)
    }
  }

  test("what was received and not logged is requested again, once") {
    query("offset") { query =>
      query.change(0, 0 until 7: _*)
      assert(query.batch().size == 7)
      query.change(1, 1, 2)
      query.next(): Unit
      query.restart()
      assert(query.batch() == Seq(1 -> 1, 2 -> 1) && query.batch().isEmpty)
    }
  }

  test("a run of AvailableNow that completes an earlier run's pass makes one more") {
    query("keyset") { query =>
      query.change(0, 0 until 9: _*)
      assert(query.batch(ReadLimit.maxRows(6)).size == 6)
      query.change(1, 2)
      query.restart()
      query.stream.prepareForTriggerAvailableNow()
      assert(query.batches(2).sorted == Seq(2 -> 1, 6 -> 0, 7 -> 0, 8 -> 0))
    }
  }

  test("values are requested and read in the format, and in any time zone") {
    val offset = (at: Instant) => "\"" + at.atOffset(ZoneOffset.ofHours(2)).toString.replace("+02:00", "+0200") + "\""
    val text = (at: Instant) => "\"" + at.toString.replace("T", " ").dropRight(1) + "\""
    val formats = Seq[(String, String, Instant => String)](
      ("iso", "2024-01-01T12:00:05Z", offset),
      ("iso", "2024-01-01T12:00:05Z", text),
      ("iso-millis", "2024-01-01T12:00:05.250Z", at => "\"" + at + "\""),
      ("iso-date", "2024-01-01", at => "\"" + at.atOffset(ZoneOffset.UTC).toLocalDate + "\""),
      ("epoch-seconds", "1704110405", at => BigDecimal(at.toEpochMilli).bigDecimal.movePointLeft(3).toPlainString),
      ("epoch-seconds", "1704110405", at => "\"" + at + "\""),
      ("epoch-millis", "1704110405250", at => "\"" + at.toEpochMilli + "\"")
    )
    formats.foreach { case (format, asked, value) =>
      query("none", "sinceFormat" -> format) { query =>
        query.api.value = value
        query.api.moment = {
          case number if format == "epoch-seconds" => Instant.ofEpochSecond(number.toLong)
          case number if format == "epoch-millis"  => Instant.ofEpochMilli(number.toLong)
          case date if format == "iso-date"        => LocalDate.parse(date).atStartOfDay(ZoneOffset.UTC).toInstant
          case moment                              => Instant.parse(moment)
        }
        val at = moment(5).plus(Duration.ofMillis(250))
        query.put(1, 0, at)
        query.clock.advance(60)
        assert(query.batch() == zero(1), format)
        assert(query.batch().isEmpty && query.api.requests() == Seq("a?#0", s"a?$asked#0"), format)
        query.put(2, 0, at)
        assert(query.batch() == zero(2), format)
      }
    }
  }

  test("raw numbers and texts are compared, and sent as they are") {
    query("none", "sinceFormat" -> "raw", "sinceStart" -> "7", "sinceInclusive" -> "false") { query =>
      query.api.inclusive = false
      query.api.value = _.getEpochSecond.toString
      query.api.moment = number => Instant.ofEpochSecond(number.toLong)
      Seq(7, 9, 10, 100).foreach(n => query.put(n, 0, Instant.ofEpochSecond(n.toLong)))
      assert(query.batch() == zero(9, 10, 100) && query.batch().isEmpty)
      query.put(101, 0, Instant.ofEpochSecond(100))
      assert(query.batch() == zero(101))
      assert(query.api.requests() == Seq("a?7#0", "a?99#0", "a?99#0"))
    }
    query("none", "sinceFormat" -> "raw") { query =>
      query.api.value = at => s"\"v${at.getEpochSecond}\""
      query.api.moment = text => Instant.ofEpochSecond(text.drop(1).toLong)
      Seq(1, 3, 2).foreach(n => query.put(n, 0, Instant.ofEpochSecond(n.toLong)))
      assert(query.batch() == zero(1, 2, 3) && query.batch().isEmpty)
      assert(query.api.requests() == Seq("a?#0", "a?v3#0"))
    }
  }

  test("a record without a usable value or key fails, with its number, the pointer and what is there") {
    Seq(
      "\"yesterday\"" -> ("iso", "Record 2 ", "'yesterday' at '/updated_at'"),
      "17" -> ("iso", "Record 2 ", "'17' at '/updated_at'"),
      "null" -> ("epoch-seconds", "Record 2 ", "no value at '/updated_at'"),
      "{}" -> ("raw", "Record 2 ", "an OBJECT at '/updated_at'"),
      "\"x\"" -> ("raw", "Record 2 ", "'x' at '/updated_at', which is not a number or a text, as in")
    ).foreach { case (value, (format, record, found)) =>
      query("none", "sinceFormat" -> format) { query =>
        query.api.value = at => if (at == moment(3)) value else if (format == "raw") "1" else "\"" + at + "\""
        (1 to 4).foreach(n => query.put(n, 0, moment(n.toLong)))
        val error = failure(query.batch())
        assert(error.condition.name == "SINCE_VALUE_INVALID")
        assert(error.getMessage.contains(record) && error.getMessage.contains(found), error.getMessage)
      }
    }
    query("none", "sinceFormat" -> "raw", "sinceInclusive" -> "false") { query =>
      query.change(0, 1)
      assert(failure(query.batch()).getMessage.contains("a number, since sinceInclusive=false"))
    }
    query("none", "keyColumns" -> "id,uid") { query =>
      query.change(0, 1)
      assert(failure(query.batch()).getMessage.contains("Record 0 of http"))
    }
  }

  test("records below the requested value are skipped: an API that ignores it gives none twice") {
    query("offset") { query =>
      query.api.ignores = true
      query.change(0, 0 until 10: _*)
      assert(query.batch().size == 10 && query.batch().isEmpty)
      query.change(1, 3)
      assert(query.batch() == Seq(3 -> 1))
    }
  }

  test("a value in the future hides no later change") {
    query("none") { query =>
      query.put(1, 0, moment(1000000))
      query.change(0, 2)
      assert(query.batch() == zero(2, 1))
      query.change(1, 2)
      assert(query.batch() == Seq(2 -> 1) && query.batch().isEmpty)
    }
  }

  test("a poll of an idle list is one conditional request") {
    query("offset") { query =>
      query.change(0, 1, 2)
      assert(query.batch().size == 2 && query.batch().isEmpty)
      query.change(0, 3)
      assert(query.batch() == zero(3) && query.batch().isEmpty)
      query.api.requests(): Unit
      assert(query.batch().isEmpty && query.api.requests() == Seq(s"a?${moment(3)}#0!"))
    }
  }

  test("a sorted list, short or long, leaves a position of few records", Slow) {
    Seq(900, 6000).foreach { count =>
      query("cursor") { query =>
        query.api.size = 500
        (0 until count).foreach(n => query.put(n, 0, moment(n.toLong)))
        query.clock.set(moment(7000))
        assert(query.batches(500).size == count)
        (1 to 40).foreach { version =>
          query.change(version, 1)
          assert(query.batch() == Seq(1 -> version))
        }
        assert(query.at.json.length < 5000 && query.logBytes < 50000)
      }
    }
  }

  test("a record on two pages of a pass is delivered once") {
    query("cursor") { query =>
      query.api.order = items => items ++ items.take(2)
      query.change(0, 0 until 5: _*)
      assert(query.batch().sorted == zero(0 until 5: _*))
    }
  }

  test("versions outlast the log's compaction, and restarts") {
    query("none", "sinceLag" -> "1h") { query =>
      query.change(0, 0 until 10: _*)
      assert(query.batch().size == 10)
      (1 to 40).foreach { version =>
        query.change(version, version % 10)
        if (version % 7 == 0) query.restart()
        assert(query.batch() == Seq(version % 10 -> version), version)
      }
    }
  }

  test("a body has the value as JSON: a text, or a number where moments are numbers") {
    query("graphql") { query =>
      query.change(0, 1)
      assert(query.batch() == zero(1) && query.batch().isEmpty)
      assert(query.api.requests() == Seq("a?#0", s"a?${moment(1)}#0"))
    }
    val options = optionsOf(new SinceApi, "body") - "sinceStart"
    def sent(more: (String, String)*): String = {
      val read = RestOptions.read(options ++ more).fold(throw _, _.first)
      new String(
        read.requests.pageCall
          .of(read.requests.endpoint, read.requests.paging.asInstanceOf[ChainedPagination], Some("7"))
          .body
          .get
          .bytes)
    }
    Seq(
      ("iso", "2024-01-01", "\"2024-01-01T00:00:00Z\""),
      ("iso-date", "2024-01-01", "\"2024-01-01\""),
      ("epoch-seconds", "2024-01-01", "1704067200"),
      ("raw", "7", "7"),
      ("raw", "v 7", "\"v 7\"")).foreach { case (format, start, json) =>
      val body = s"""{"filter":{"kind":"a","since":$json},"cursor":7}"""
      assert(sent("sinceFormat" -> format, "sinceStart" -> start) == body)
    }
  }

  test("a parent is read whole once in a run, then from its greatest value, and its members stay") {
    val api = new SinceApi
    try {
      val of =
        "sinceField" -> "/updated_at" :: "sinceParam" -> "since" :: "keyColumns" -> "id" :: "refreshInterval" -> "0s" ::
          "records" -> "/data" :: "fields" -> "id=/id" :: "url" -> s"${api.url}/items/a" :: SinceApi
            .kinds("cursor")
            .toList
      val query = new Query(
        api,
        Map("url" -> s"${api.url}/items/x$${id}", "records" -> "/data", "refreshInterval" -> "0s") ++
          of.map { case (name, text) => s"parent.$name" -> text })
      def ofParent = api.requests().filter(_.startsWith("a"))
      query.change(0, 1 to 5: _*)
      (1 to 5).foreach(n => api.put(s"x$n", Item(10 * n, moment(1), 0)))
      assert(query.batch().sorted == zero(10, 20, 30, 40, 50) && ofParent == Seq("a?#0", "a?#3"))
      query.change(0, 6)
      api.put("x6", Item(60, moment(1), 0))
      api.put("x2", Item(21, moment(1), 0))
      assert(query.batch().sorted == zero(21, 60) && ofParent == Seq(s"a?${moment(5)}#0"))
      api.put("x1", Item(11, moment(1), 0))
      assert(query.batch() == zero(11) && ofParent == Seq(s"a?${moment(6)}#0"))
      query.restart()
      api.put("x3", Item(31, moment(1), 0))
      assert(query.batch() == zero(31) && ofParent == Seq("a?#0", "a?#3"))
      query.stream.stop()
    } finally api.close()
  }

  test("each member, and each row of partitionParams, has a value of its own") {
    val parent = Map("parent.records" -> "/data", "parent.fields" -> "name=/name", "parent.refreshInterval" -> "0s")
    Seq(true, false).foreach { ofParent =>
      val api = new SinceApi
      try {
        val lists =
          if (ofParent) parent + ("parent.url" -> s"${api.url}/lists")
          else Map("partitionParams" -> """[{"name": "a"}, {"name": "b"}]""")
        val query = new Query(api, optionsOf(api, "cursor") ++ lists + ("url" -> s"${api.url}/items/$${name}"))
        query.clock.advance(3600)
        (0 until 5).foreach { n =>
          api.put("a", Item(n, moment(n.toLong), 0))
          api.put("b", Item(10 + n, moment(100L + n), 0))
        }
        assert(query.batch().sorted == zero((0 until 5) ++ (10 until 15): _*))
        api.requests(): Unit
        query.restart()
        api.put("a", Item(1, moment(50), 1))
        assert(query.batch() == Seq(1 -> 1))
        assert(api.requests().toSet == Set(s"a?${moment(4)}#0", s"b?${moment(104)}#0"))
        query.restart()
        api.put("b", Item(12, moment(104), 1))
        assert(query.batch() == Seq(12 -> 1) && query.batch().isEmpty)
        query.stream.stop()
      } finally api.close()
    }
  }
}
