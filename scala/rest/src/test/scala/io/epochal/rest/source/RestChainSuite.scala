package io.epochal.rest.source

import java.nio.file.Files

import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import io.epochal.kit.record.RecordReading
import io.epochal.testkit.MicroBatch

/** The source over correct and faulty APIs whose pages name the next one. */
final class RestChainSuite extends AnyFunSuite with ChainFixture {

  ChainApi.kinds.keys.foreach { kind =>
    test(s"$kind: every page is requested once, regardless of batch limits and replays") {
      query(30, kind) { query =>
        val ids = Iterator.continually(query.batch(ReadLimit.maxRows(7))).takeWhile(_.nonEmpty).toVector
        assert(ids.map(_.size) == Vector(7, 7, 7, 7, 2) && ids.flatten == (0 until 30))
        // The last page is requested again: once while the second-to-last batch runs, and once by the poll at the end.
        val requests = query.api.requests()
        assert(
          requests.filter(_.nonEmpty).distinct.take(7) == (1 to 7).map(i => s"c${i * 4}") && requests.size <= 10,
          requests)
        query.restart()
        // A key is the last record of its page, and leads past it.
        assert(query.batch().isEmpty && query.api.requests() == Seq(if (kind == "keyset") "c30" else "c28"))
      }
    }

    test(s"$kind: a growing list is continued, from within its last page and from a full one") {
      query(0, kind) { query =>
        val delivered = Seq(0, 3, 4, 5, 8, 8, 21).map { count =>
          query.api.count = count
          val ids = query.batch()
          query.restart()
          ids
        }
        assert(delivered.flatten == (0 until 21) && delivered.map(_.size) == Seq(0, 3, 1, 1, 3, 0, 13))
      }
    }

    test(s"$kind: a batch read follows all pages in one task") {
      ChainApi.using(records = 30) { api =>
        val options = RestOptions.read((ChainApi.kinds(kind) :+ ("url" -> api.url)).toMap).fold(throw _, identity)
        val factory =
          new RestReaderFactory(
            options.requests,
            RecordReading(schema, "UTC"),
            new io.epochal.rest.http.HttpCounters,
            None)
        val reader = factory.createReader(ChainPartition(java.time.Instant.now()))
        val ids = Iterator.continually(reader).takeWhile(_.next()).map(_.get().getInt(0)).toVector
        assert(ids == (0 until 30) && api.requests().size == (if (kind == "keyset") 9 else 8))
      }
    }
  }

  test("a run that dies after journalling, before Spark has logged the offset, requests those pages again") {
    query(30, "cursor") { query =>
      query.batch(ReadLimit.maxRows(6))
      query.stream.latestOffset(query.at, ReadLimit.maxRows(10))
      val orphan = query.segments.size
      query.stream = query.start() // The other one was killed, without stopping.
      assert(orphan == 2 && query.batch(ReadLimit.maxRows(10)) == (6 until 16))
      assert(query.batch() == (16 until 30))
    }
  }

  test("a stopped run removes segments that no offset can name") {
    query(3, "cursor", "minRowsPerBatch" -> "10") { query =>
      val limit = query.stream.getDefaultReadLimit
      assert(query.batch(limit).isEmpty && query.segments.size == 1)
      query.stream.stop()
      assert(query.segments.isEmpty)
      query.api.count = 12
      query.restart()
      assert(query.batch(limit) == (0 until 12))
    }
  }

  test("rows that wait for a minimum are received once, and make no empty batch") {
    query(0, "cursor", "minRowsPerBatch" -> "9") { query =>
      val limit = query.stream.getDefaultReadLimit
      (0 to 8).foreach { count =>
        query.api.count = count
        assert(query.batch(limit).isEmpty)
      }
      query.api.count = 10
      query.api.requests()
      assert(query.batch(limit) == (0 until 10))
      assert(query.api.requests() == Seq("c4", "c8") && query.segments.size == 1)
    }
  }

  test("an idle API costs one request per poll") {
    query(10, "cursor") { query =>
      query.batch()
      query.api.requests()
      (1 to 5).foreach(_ => assert(query.batch().isEmpty))
      assert(query.api.requests() == Seq.fill(5)("c8"))
      assert(query.metric("rowsBehind") == "0" && query.metric("rowsBehindExact") == "true")
    }
  }

  test("segments of completed batches are removed, except those of the last three") {
    query(400, "cursor") { query =>
      Iterator.continually(query.batch(ReadLimit.maxRows(10))).takeWhile(_.nonEmpty).foreach { _ =>
        assert(query.segments.size <= 7, query.at.json)
      }
      assert(query.at.json.contains("\"records\":400"))
    }
  }

  test("a server that fails temporarily is retried, and no page is read twice") {
    query(30, "link") { query =>
      val failing = Iterator.continually(Seq(503, 200, 429, 500, 200)).flatten
      query.api.before = () => failing.synchronized(failing.next())
      assert(query.batch() == (0 until 30))
    }
  }

  test("a page that keeps failing ends the batch, and the next run resumes from the last logged offset") {
    query(30, "cursor") { query =>
      assert(query.batch(ReadLimit.maxRows(5)) == (0 until 5))
      query.api.before = () => if (query.api.requests().contains("c16")) 404 else 200
      assert(failure(query.batch()).condition.name == "HTTP_STATUS")
      query.api.before = () => 200
      assert(query.batch() == (5 until 30))
    }
  }

  // Loops and ends.

  test("an API that ignores the cursor and returns the first page forever is an error at its second page") {
    query(30, "cursor", "nextCursor" -> "/meta/next") { query =>
      query.api.position = _ => 0
      val error = failure(query.batch())
      assert(error.condition.name == "PAGINATION_LOOP" && query.api.requests().size == 2)
      query.restart("cursorParam" -> "after")
      assert(failure(query.batch()).condition.name == "PAGINATION_LOOP")
    }
  }

  test("a loop over several pages is an error, also across batches and restarts") {
    query(1000, "link") { query =>
      query.api.after = from => Some(s"c${if (from == 40) 12 else from + 4}")
      assert(failure(query.batch()).condition.name == "PAGINATION_LOOP")
      val error = failure((1 to 100).foreach { i =>
        query.batch(ReadLimit.maxRows(3))
        if (i == 7) query.restart()
      })
      assert(
        error.condition.name == "PAGINATION_LOOP" && error.getMessage.contains("names the next page ("),
        error.getMessage)
    }
  }

  test("an API that responds with no records and a new cursor forever ends a poll, and is resumed there", Slow) {
    query(4, "cursor") { query =>
      query.api.after = from => Some(s"c${from + 4}")
      assert(query.batch() == (0 until 4))
      assert(query.batch().isEmpty)
      val requests = query.api.requests()
      assert(requests.distinct == requests && requests.size <= 202)
      query.api.page = from => if (from == 3600) Seq(4L) else Nil
      assert(Iterator.continually(query.batch()).take(30).find(_.nonEmpty).contains(Seq(4)))
    }
  }

  test("AvailableNow skips long sequences of empty pages, and the next run begins after those skipped", Slow) {
    query(0, "cursor") { query =>
      val full = Map(0L -> 0L, 600L -> 1L, 2800L -> 2L)
      query.api.after = from => Option.when(from < 800 * 4)(s"c${from + 4}")
      query.api.page = from => full.get(from).toSeq
      query.stream.prepareForTriggerAvailableNow()
      assert(Iterator.continually(query.batch()).take(20).flatten.toSeq == Seq(0, 1, 2))
      query.api.after = from => Some(s"c${from + 4}")
      query.api.page = from => if (from == 2500 * 4) Seq(3L) else Nil
      query.api.requests()
      val runs = Iterator.continually {
        query.restart()
        query.stream.prepareForTriggerAvailableNow()
        val before = query.at.json
        val found = Iterator.continually(query.batch()).take(20).flatten.toSeq
        assert(query.at.json != before)
        found
      }
      assert(runs.take(3).toSeq.flatten == Seq(3))
      // Up to the record, and in each run up to 1,100 pages after the last one.
      assert(query.api.requests().size < (2500 - 800) + 3 * 12 * 100)
    }
  }

  test("more pages than maxPages in one batch are an error; smaller batches are not") {
    query(400, "cursor", "maxPages" -> "10") { query =>
      val error = failure(query.batch())
      assert(error.condition.name == "TOO_MANY_PAGES" && error.getMessage.contains("more than 10 pages"))
      val ids = Iterator.continually(query.batch(ReadLimit.maxRows(40))).takeWhile(_.nonEmpty).flatten.toVector
      assert(ids == (0 until 400))
    }
    query(40, "cursor", "maxPages" -> "10")(query => assert(query.batch() == (0 until 40)))
  }

  test("a POST body has a placeholder for the cursor, and for the key") {
    val body = """{"size": 4, "after": "$""" + """{cursor}"}"""
    query(10, "cursor", "requestBody" -> body, "firstCursor" -> "c0") { query =>
      assert(query.batch() == (0 until 10))
      assert(query.api.requests() == Seq("c0", "c4", "c8"))
    }
    query(10, "keyset", "requestBody" -> body, "firstCursor" -> "-1") { query =>
      assert(query.batch() == (0 until 10))
    }
  }

  test("a last page that shrinks is data loss, or with failOnDataLoss=false is waited for") {
    query(10, "cursor") { query =>
      query.batch()
      query.api.count = 9
      val error = failure(query.batch())
      assert(error.condition.name == "DATA_LOSS" && error.getMessage.contains("from offset 9 to 10"))
      query.restart("failOnDataLoss" -> "false")
      assert(query.batch().isEmpty)
      query.api.count = 12
      assert(query.batch() == (10 until 12))
    }
  }

  // Secrets, and where links lead.

  test("a link to another origin is refused by name, and nothing is sent there") {
    ChainApi.using(records = 30) { other =>
      Seq("link", "next-url").foreach { kind =>
        query(30, kind, "headers.Authorization" -> "Bearer hunter2") { query =>
          query.api.address = q => s"${other.url}?$q&key=hunter2"
          val error = failure(query.batch())
          assert(error.condition.name == "LINK_REFUSED" && error.getMessage.contains(other.url))
          assert(other.requests().isEmpty)
        }
      }
    }
  }

  test("secrets that a link repeats are in no offset and in no segment, and are sent again") {
    Seq("link", "next-url").foreach { kind =>
      query(30, kind, "params.api_key" -> "hunter2", "params.lang" -> "en") { query =>
        assert(query.batch(ReadLimit.maxRows(6)) == (0 until 6))
        assert(query.at.json.contains("api_key={0}") && !query.at.json.contains("hunter2"))
        query.segments.foreach(file => assert(!new String(Files.readAllBytes(file)).contains("hunter2")))
        query.restart()
        assert(query.batch() == (6 until 30))
      }
    }
  }

  test("a checkpoint that is moved is resumed") {
    query(30, "cursor") { query =>
      query.batch(ReadLimit.maxRows(6))
      val moved = Files.move(query.checkpoint, query.checkpoint.resolveSibling("moved"))
      val stream = RestStreams.over(query.api.url, moved, schema, ChainApi.kinds("cursor"): _*)
      val start = stream.deserializeOffset(query.at.json)
      val end = MicroBatch.next(stream, start, ReadLimit.allAvailable()).get
      assert(MicroBatch.read(stream, schema, start, end).map(_.head) == (6 until 30))
    }
  }

  test("an offset of another kind of pagination is refused, even under the same sourceId") {
    query(30, "cursor", "sourceId" -> "s") { query =>
      query.batch(ReadLimit.maxRows(6))
      val offset = RestStreams.over(query.api.url, query.checkpoint, schema, "sourceId" -> "s", "records" -> "/data")
      val error = failure(offset.deserializeOffset(query.at.json))
      assert(error.condition.name == "OFFSET_INVALID" && error.getMessage.contains("not written with pagination=none"))
      assert(
        failure(
          query.stream.deserializeOffset(
            RestOffset.toJson("s", RestPosition.Planned(5)))).condition.name == "OFFSET_INVALID")
    }
  }

  test("a record that does not fit the schema is refused by its number in the stream") {
    query(10, "cursor") { query =>
      query.api.page = from => (from until math.min(from + 4, 10L)).map(i => if (i == 6) 99999999999L else i)
      val error = failure(query.batch())
      assert(error.condition.name == "RECORD_INVALID" && error.getMessage.contains("Record 6 of"))
    }
  }
}
