package io.epochal.rest.source.supply

import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.EpochalException
import io.epochal.kit.record.RecordReading
import io.epochal.kit.source.journal.JournalTail
import io.epochal.kit.source.{InitialOffset, SourceStream}
import io.epochal.kit.store.HadoopFileStore
import io.epochal.rest.http.HttpCounters
import io.epochal.rest.source._
import io.epochal.testkit.{MicroBatch, Serialization}

/** `journal=true` for APIs with counted records, and for APIs that ignore the paging parameters. */
final class RestCountedJournalSuite extends AnyFunSuite {

  private val schema = StructType.fromDDL("id INT, name STRING")
  private val kinds = Seq("none", "offset", "page")

  final private class Query(val api: RecordsApi, kind: String) {
    val checkpoint: Path = Files.createTempDirectory("rest").resolve("0")

    def start(more: (String, String)*): SourceStream[RestPosition] = {
      val size = Option.when(kind != "none")("pageSize" -> "4")
      RestStreams.over(api.url, checkpoint, schema, Seq("pagination" -> kind) ++ size ++ more: _*)
    }

    def read(stream: SourceStream[RestPosition], from: Offset, end: Offset): Seq[Int] =
      MicroBatch
        .read(stream, schema, stream.deserializeOffset(from.json), stream.deserializeOffset(end.json))
        .map(_.head.asInstanceOf[Int])

    def next(stream: SourceStream[RestPosition], from: Offset, most: Long): Offset =
      MicroBatch.next(stream, stream.deserializeOffset(from.json), ReadLimit.maxRows(most)).get
  }

  private def query(kind: String, records: Int)(body: Query => Any): Unit =
    RecordsApi.using(records) { api =>
      val _ = body(new Query(api, kind))
    }

  private def failure(body: => Any): EpochalException = intercept[EpochalException] { val _ = body }

  kinds.foreach { kind =>
    test(s"$kind: a replayed batch has the records first read, though the API has changed since") {
      query(kind, records = 30) { query =>
        val stream = query.start("journal" -> "true")
        val start = stream.initialOffset()
        val middle = query.next(stream, start, 7)
        val end = query.next(stream, middle, 100)
        query.api.record = i => s"""{"id":${1000 + i}}"""
        query.api.count = 3
        query.api.requests()
        val again = query.start("journal" -> "true", "numPartitions" -> "3")
        assert(query.read(again, start, middle) == (0 until 7) && query.read(again, middle, end) == (7 until 30))
        assert(query.api.requests().isEmpty)
      }
    }

    test(
      s"$kind: a query may begin to journal, and stop, on its checkpoint; journalled batches are read from the journal") {
      query(kind, records = 10) { query =>
        val live = query.start()
        val start = live.initialOffset()
        val one = query.next(live, start, 3)
        val two = query.next(query.start("journal" -> "true"), one, 3)
        query.api.record = i => s"""{"id":${100 + i},"name":"another"}"""
        val three = query.next(query.start(), two, 3)
        val reader = query.start()
        assert(query.read(reader, one, two) == (3 until 6))
        assert(query.read(reader, two, three) == (106 until 109))
        assert(Seq(one, two, three).map(_.json.contains("\"segments\"")) == Seq(false, true, false))
      }
    }

    test(s"$kind: a batch that was planned without a journal is requested again by a run that journals") {
      query(kind, records = 10) { query =>
        val live = query.start()
        val start = live.initialOffset()
        val one = query.next(live, start, 3)
        val two = query.next(live, one, 3)
        val journalling = query.start("journal" -> "true")
        assert(query.read(journalling, one, two) == (3 until 6))
        val three = query.next(journalling, two, 100)
        assert(query.read(journalling, two, three) == (6 until 10))
      }
    }

    test(s"$kind: an API that has lost records since they were seen is data loss, before a batch is planned") {
      query(kind, records = 10) { query =>
        val stream = query.start("journal" -> "true")
        val end = query.next(stream, stream.initialOffset(), 100)
        query.api.count = 8
        val error = failure(query.next(stream, end, 100))
        assert(error.condition.name == "DATA_LOSS" && error.getMessage.contains("from offset 8 to 10"))
      }
    }
  }

  test("a long backlog is journalled in several segments, which are read as one") {
    val directory = Files.createTempDirectory("rest").resolve("journal")
    val store = new HadoopFileStore(directory.toString, new Configuration())
    val options = RestOptions.read(Map("url" -> "http://127.0.0.1/c", "journal" -> "true")).fold(throw _, identity)
    val journal = RestJournal(options, store, 3)
    val tail = new JournalTail(journal, RestPosition.First, segmentBytes = 200)
    (0 until 30).foreach { i =>
      val page = s"""[{"id":${2 * i}},{"id":${2 * i + 1}}]""".getBytes
      tail.receive {
        tail.add(2, page, 0, page.length)
        tail.cursor
      }
    }
    val middle = tail.take(31)
    val after = tail.after(middle).get
    val end = after.take(29)
    assert(middle.journal.get.size > 5 && end.journal.get.size < middle.journal.get.size)
    val reader = new RestReaderFactory(options.requests, RecordReading(schema, "UTC"), new HttpCounters, Some(store))
    val ids = Seq(RestPosition.First -> middle, middle -> end).flatMap { case (from, until) =>
      journal.partitions(from, until).toSeq.flatMap { partition =>
        val rows = reader.createReader(Serialization.copy(partition))
        Iterator.continually(rows).takeWhile(_.next()).map(_.get().getInt(0)).toVector
      }
    }
    assert(ids == (0 until 60))
    assert(RestOffset.fromJson("s", RestOffset.toJson("s", middle)).contains(middle))
  }

  test("a journal's directory reaches the executors with the settings of its file system") {
    val directory = Files.createTempDirectory("rest").resolve("journal")
    val hadoop = new Configuration(false)
    hadoop.set("fs.file.impl", "org.apache.hadoop.fs.LocalFileSystem")
    val store = new HadoopFileStore(directory.toUri.toString, hadoop)
    val out = store.create("a")
    out.write(Array[Byte](1, 2, 3), 0, 3)
    out.sync()
    out.close()
    val copy = Serialization.copy(store)
    val bytes = new Array[Byte](2)
    val in = copy.open("a")
    in.read(1, bytes, 0, 2)
    assert(bytes.toSeq == Seq[Byte](2, 3) && in.length == 3 && copy.names() == Seq("a"))
    intercept[java.io.EOFException](in.read(2, bytes, 0, 2))
    in.close()
    intercept[java.nio.file.NoSuchFileException](copy.open("b"))
    intercept[java.io.IOException](copy.create("a"))
    copy.delete("a")
    copy.delete("a")
    assert(store.names().isEmpty)
  }

  test("only its owner can read a journal's directory, and those of its members") {
    val checkpoint = Files.createTempDirectory("rest")
    val store = new InitialOffset(checkpoint.toString, new Configuration()).beside("journal")
    Seq(store.below("member"), store).foreach(_.create("a").close())
    val permissions = Files.getPosixFilePermissions(checkpoint.resolve("journal"))
    assert(PosixFilePermissions.toString(permissions) == "rwx------")
    assert(Files.exists(checkpoint.resolve("journal").resolve("member").resolve("a")))
  }

  test("pages are fetched several at a time, each once, and journalled in order") {
    query("offset", records = 400) { query =>
      val (lock, waiting, most) =
        (new Object, new java.util.concurrent.atomic.AtomicInteger, new java.util.concurrent.atomic.AtomicInteger)
      query.api.before = () => {
        lock.synchronized(most.set(math.max(most.get, waiting.incrementAndGet())))
        Thread.sleep(1)
        lock.synchronized(waiting.decrementAndGet())
        ()
      }
      val stream = query.start("journal" -> "true", "numPartitions" -> "8")
      val start = stream.initialOffset()
      val end = query.next(stream, start, 400)
      val requests = query.api.requests().filterNot(_.startsWith(s"_start=${1L << 30}"))
      assert(query.read(stream, start, end) == (0 until 400))
      // The search for the end requested the first and the last page, and the comparison of two pages the last two.
      assert(requests.distinct.size == 100 && requests.size <= 104 && most.get > 1, requests.size)
      stream.stop()
    }
  }

  test("an interrupt ends a poll that waits for its pages") {
    query("offset", records = 400) { query =>
      val stream = query.start("journal" -> "true")
      val requests = new java.util.concurrent.CountDownLatch(4)
      query.api.before = () => {
        requests.countDown()
        if (requests.getCount == 0)
          try Thread.sleep(60000)
          catch { case _: InterruptedException => () }
      }
      @volatile var thrown = Option.empty[Throwable]
      val thread = new Thread(() =>
        try { val _ = query.next(stream, stream.initialOffset(), 400) }
        catch { case e: Throwable => thrown = Some(e) })
      thread.start()
      assert(requests.await(20, java.util.concurrent.TimeUnit.SECONDS))
      thread.interrupt()
      thread.join(20000)
      assert(thrown.exists(_.isInstanceOf[InterruptedException]), thrown)
      stream.stop()
    }
  }

  Seq("offset", "page").foreach { kind =>
    Seq(true, false).foreach { journal =>
      test(
        s"$kind, journal=$journal: a server that returns the same page for every request is refused, before a record is delivered twice") {
        query(kind, records = Int.MaxValue) { query =>
          query.api.record = _ => """{"id":1}"""
          val stream = query.start("journal" -> journal.toString)
          val start = stream.initialOffset()
          // A first page is like any other: only a second one shows it.
          val error = failure {
            val first = query.next(stream, start, 4)
            query.next(stream, first, 4)
          }
          val parameter = if (kind == "page") "page" else "_start"
          assert(error.condition.name == "PAGINATION_MISMATCH")
          assert(error.getMessage.contains(s"the same page for every request: it ignores the parameter '$parameter'."))
        }
      }
    }

    test(s"$kind: equal records are not taken for such a server") {
      query(kind, records = 30) { query =>
        query.api.record = _ => """{"id":1}"""
        val stream = query.start()
        val start = stream.initialOffset()
        assert(query.read(stream, start, query.next(stream, start, 100)) == Seq.fill(30)(1))
      }
    }
  }
}
