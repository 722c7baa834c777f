package io.epochal.rest.source.window

import java.nio.file.Files

import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

/** Overlapping windows: late events are delivered, and none twice. */
final class WindowOverlapSuite extends AnyFunSuite with WindowFixture {

  private val overlapping = Seq("overlap" -> "10m", "keyColumns" -> "id")

  test("an overlap of several windows finds events as late as that, and requests nothing before the first window") {
    query("none", "overlap" -> "25m", "keyColumns" -> "id") { query =>
      (0 until 5).foreach(n => query.event(n, n * 10L + 5))
      query.nowAt(51)
      assert(query.batch() == (0 until 5))
      val froms = query.api.requests().map(_.takeWhile(_ != '/'))
      assert(froms == Seq(0L, 0L, 0L, 5L, 15L).map(minutes(_).toString))
      query.event(10, 26)
      query.event(11, 24) // Too late.
      query.restart()
      query.nowAt(61)
      assert(query.batch() == Seq(10))
      assert(query.at.json.contains(";"))
    }
  }

  test("duplicates are removed from pages that are too large for memory, too", Slow) {
    val wide = "lorem ipsum " * 800
    query("offset", (overlapping ++ Seq("pageSize" -> "1000")): _*) { query =>
      query.api.pageSize = 1000
      query.api.more = event => s""","text":"${event.id} $wide""""
      (0 until 1500).foreach(id => query.event(id, id.toLong % 20))
      query.nowAt(11)
      assert(query.batches().flatten.sorted == (0 until 1500).filter(_ % 20 < 10))
      query.restart()
      query.nowAt(21)
      assert(query.batches().flatten.sorted == (0 until 1500).filter(_ % 20 >= 10))
    }
  }

  test("keys are read again from journalled pages with an origin") {
    query("none", (overlapping :+ ("metadataColumns" -> "_url")): _*) { query =>
      (0 until 20).foreach(id => query.event(id, id.toLong))
      query.nowAt(11)
      assert(query.batch() == (0 until 10))
      query.restart()
      query.nowAt(21)
      assert(query.batch() == (10 until 20))
    }
  }

  test("an event that is a duplicate in every window stays one for as long as windows contain it") {
    query("none", "overlap" -> "30m", "keyColumns" -> "id") { query =>
      query.event(1, 1)
      val delivered = (1 to 8).flatMap { n =>
        query.event(100 + n, n * 10L - 1)
        query.nowAt(n * 10L + 1)
        val rows = query.batch()
        query.restart()
        rows
      }
      assert(delivered.sorted == 1 +: (101 to 108))
    }
  }

  test("an overlap that is set or raised for a running query delivers nothing twice, also within a window") {
    query("offset") { query =>
      (0 until 40).foreach(id => query.event(id, id.toLong))
      query.nowAt(41)
      assert(query.batch(ReadLimit.maxRows(5)) == (0 until 5))
      query.restart("overlap" -> "5m", "keyColumns" -> "id")
      assert(query.batch(ReadLimit.maxRows(10)) == (5 until 15))
      query.restart("overlap" -> "20m", "keyColumns" -> "id")
      assert(query.batches(ReadLimit.maxRows(10)).flatten == (15 until 40))
      query.event(100, 26)
      query.nowAt(51)
      assert(query.batch() == Seq(100))
      query.restart()
      query.event(101, 55)
      query.nowAt(61)
      assert(query.batch() == Seq(101))
      query.restart("overlap" -> "20m", "keyColumns" -> "id")
      query.nowAt(71)
      assert(query.batch().isEmpty)
    }
  }

  test("an API that returns boundary events in both windows delivers none twice, if windows overlap") {
    Seq("5m", "10m", "20m").foreach { overlap =>
      query("none", "overlap" -> overlap, "keyColumns" -> "id") { query =>
        query.api.inclusive = true
        (0 to 80 by 5).foreach(minute => query.event(minute, minute.toLong))
        query.nowAt(41)
        assert(query.batches().flatten.sorted == (0 to 40 by 5))
        query.restart()
        query.nowAt(81)
        assert(query.batches().flatten.sorted == (45 to 80 by 5), overlap)
      }
    }
  }

  test("an overlap cannot be removed within a window that began with it: its events would be delivered twice") {
    query("offset") { query =>
      (0 until 30).foreach(id => query.event(id, id.toLong))
      query.nowAt(31)
      query.restart("overlap" -> "10m", "keyColumns" -> "id")
      assert(query.batch(ReadLimit.maxRows(11)) == (0 until 11))
      query.restart()
      val error = failure(query.batch())
      assert(error.condition.name == "OPTION_CONFLICT" && error.getMessage.contains("overlap"))
      query.restart("overlap" -> "10m", "keyColumns" -> "id")
      assert(query.batches().flatten == (11 until 30))
      query.restart()
      query.event(40, 40)
      query.nowAt(51)
      assert(query.batches().flatten == Seq(40))
    }
  }

  test("pages of a window may have another size after a restart, and deliver nothing twice", Slow) {
    Seq("offset", "page").foreach { kind =>
      query(kind, "windowLength" -> "1h") { query =>
        (0 until 50).foreach(id => query.event(id, id.toLong))
        query.nowAt(61)
        assert(query.batch(ReadLimit.maxRows(7)) == (0 until 7), kind)
        Seq(4, 7, 2).foreach { size =>
          query.api.pageSize = size
          query.restart("pageSize" -> s"$size")
          assert(query.batch(ReadLimit.maxRows(11)).nonEmpty)
        }
        assert(query.batches().flatten == (40 until 50), kind)
      }
    }
  }

  test("segments that the overlap needs stay, others are removed") {
    query("none", overlapping: _*) { query =>
      (1 to 30).foreach { n =>
        query.event(n, n * 10L - 5)
        query.nowAt(n * 10L + 1)
        assert(query.batch() == Seq(n))
        assert(query.segments.size <= 8)
      }
    }
  }

  test("a lost segment of the overlap is data loss, or with failOnDataLoss=false its records may be delivered again") {
    query("none", overlapping: _*) { query =>
      query.event(1, 5)
      query.nowAt(11)
      assert(query.batch() == Seq(1))
      query.segments.foreach(Files.delete)
      query.restart()
      query.nowAt(21)
      val error = failure(query.batch())
      assert(error.condition.name == "DATA_LOSS" && error.getMessage.contains("from offset 0 to 1"))
      assert(error.getMessage.contains("keys"))
      query.restart("failOnDataLoss" -> "false")
      assert(query.batch() == Seq(1))
    }
  }
}
