package io.epochal.rest.source

import java.nio.file.{Files, Path}

import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.EpochalException
import io.epochal.kit.source.SourceStream
import io.epochal.testkit.MicroBatch

/** Servers whose pages are shorter than requested, though more follow, and servers whose pages begin at multiples of
  * their size.
  */
final class RestShortPageSuite extends AnyFunSuite {

  private val schema = StructType.fromDDL("id INT, name STRING")

  final private class Query(val api: RecordsApi, options: Seq[(String, String)]) {
    val checkpoint: Path = Files.createTempDirectory("rest").resolve("0")
    val stream: SourceStream[RestPosition] = RestStreams.over(api.url, checkpoint, schema, options: _*)
    var at: Offset = stream.initialOffset()

    def plan(limit: ReadLimit = ReadLimit.allAvailable()): Option[Offset] = MicroBatch.next(stream, at, limit)

    def rows(end: Offset): Seq[Int] = MicroBatch.read(stream, schema, at, end).map(_.head.asInstanceOf[Int])

    def batch(): Seq[Int] = plan().fold(Seq.empty[Int]) { end =>
      stream.commit(at)
      val ids = rows(end)
      at = stream.deserializeOffset(end.json)
      ids
    }

    def all(): Seq[Int] = Iterator.continually(batch()).takeWhile(_.nonEmpty).flatten.toVector
  }

  private def query(records: Int, options: (String, String)*)(body: Query => Any): Unit =
    RecordsApi.using(records) { api =>
      val query = new Query(api, Seq("pagination" -> "offset") ++ options)
      try { val _ = body(query) }
      finally query.stream.stop()
    }

  private val ways = Seq(
    "live" -> Nil,
    "journalled" -> Seq("journal" -> "true"),
    "journalled in pieces" -> Seq("journal" -> "true", "maxPollBytes" -> "1"))

  ways.foreach { case (name, options) =>
    Seq("JSON", "NDJSON").foreach { format =>
      test(s"$name, $format: reading continues after a short page in the middle, and every record is delivered once") {
        val lines = if (format == "NDJSON") Seq("bodyFormat" -> "ndjson") else Nil
        query(1000, options ++ lines :+ ("pageSize" -> "100"): _*) { query =>
          if (lines.nonEmpty) query.api.body = _.stripPrefix("[").stripSuffix("]").replace("},{", "}\n{") + "\n"
          else query.api.body = _.replace("},{", "} , \n{")
          query.api.capAt = Map(300L -> 60, 500L -> 10, 510L -> 30)
          assert(query.all() == (0 until 1000))
        }
      }
    }
  }

  test("journalled: a page of several MiB after a short one is cut where the next page begins") {
    query(1000, "journal" -> "true", "pageSize" -> "100") { query =>
      val text = "x" * (100 << 10)
      query.api.record = i => s"""{"id":$i,"name":"${if (i >= 360 && i < 460) text else ""}"}"""
      query.api.capAt = Map(300L -> 60)
      assert(query.all() == (0 until 1000))
    }
  }

  private val shrunk =
    "a list of a server that rounds offsets down, and that has become shorter since it was planned, is data loss"

  Seq(true, false).foreach { fails =>
    val loss = "failOnDataLoss" -> fails.toString

    def outcome(until: Int)(read: => Seq[Int]): Unit =
      if (fails) {
        val error = intercept[EpochalException] { val _ = read }
        assert(error.condition.name == "DATA_LOSS" && error.getMessage.contains(s"record $until"), error)
      } else assert(read.lastOption.contains(until - 1))

    test(s"live, failOnDataLoss=$fails: $shrunk, and no record is delivered twice") {
      Seq("100", "40").foreach { size =>
        query(160, "pageSize" -> size, "numPartitions" -> "1", loss) { query =>
          query.api.rounds = true
          val end = query.plan().get
          query.api.count = 150
          outcome(150) {
            val ids = query.rows(end)
            assert(ids == (0 until 150))
            ids
          }
        }
      }
    }

    test(s"journalled, failOnDataLoss=$fails: $shrunk, and no record is delivered twice") {
      query(160, "pageSize" -> "100", "journal" -> "true", loss) { query =>
        query.api.rounds = true
        query.stream.prepareForTriggerAvailableNow()
        val end = query.plan(ReadLimit.maxRows(100)).get
        query.api.count = 150
        assert(query.rows(end) == (0 until 100))
        query.at = query.stream.deserializeOffset(end.json)
        outcome(150) {
          val ids = query.batch()
          assert(ids == (100 until 150))
          ids
        }
      }
    }
  }

  ways.take(1).foreach { case (name, options) =>
    test(s"$name: a position within a page that has become shorter is resumed by its own request") {
      query(95, options :+ ("pageSize" -> "10"): _*) { query =>
        val end = query.plan(ReadLimit.maxRows(7)).get
        assert(query.rows(end) == (0 until 7))
        query.at = query.stream.deserializeOffset(end.json)
        val next = if (options.isEmpty) query.plan() else None
        query.api.capAt = if (options.isEmpty) Map(0L -> 6) else Map(20L -> 6)
        val ids = next.fold(query.all())(query.rows)
        assert(ids == (7 until 95))
      }
    }
  }
}
