package io.epochal.rest.source.page

import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{CountDownLatch, CyclicBarrier, TimeUnit}

import scala.util.Using

import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.EpochalException
import io.epochal.kit.record.{RecordColumns, RecordReading, RecordRows}
import io.epochal.rest.http.{HttpClient, HttpCounters}
import io.epochal.rest.source._

final class PageReaderSuite extends AnyFunSuite {

  /** The ids of records `from` to `until`, in delivery order. */
  private def read(api: RecordsApi, until: Long, depth: Int, more: (String, String)*): Seq[Long] = {
    val raw =
      Map("url" -> api.url, "pagination" -> "offset", "pageSize" -> "5", "retry.initialDelay" -> "1ms") ++ more
    val options = RestOptions.read(raw).fold(throw _, identity)
    val columns = new RecordColumns(RecordReading(StructType.fromDDL("id LONG"), "UTC"), options.rules)
    val client = new HttpClient(options.requests.http, new HttpCounters)
    Using.resource(new PageReader(options.requests, RecordRange(0, until), client, depth)) { pages =>
      val rows = new RecordRows(columns, options.rules, pages, options.requests.place)
      Iterator.continually(rows).takeWhile(_.next()).map(_.row.getLong(0)).toVector
    }
  }

  test("a task fetches as many pages at a time as granted, and their records are in order") {
    RecordsApi.using(records = 200) { api =>
      val together = new CyclicBarrier(4) // No response before four requests.
      api.before = () => { val _ = together.await(60, TimeUnit.SECONDS) }
      assert(read(api, 200, depth = 4) == (0L until 200))
      assert(api.requests().size == 40)
    }
  }

  test("concurrent requests never exceed the grant") {
    RecordsApi.using(records = 200) { api =>
      val (running, peak) = (new AtomicInteger, new AtomicInteger)
      api.before = () => {
        peak.accumulateAndGet(running.incrementAndGet(), math.max(_, _))
        Thread.sleep(2)
        val _ = running.decrementAndGet()
      }
      assert(read(api, 200, depth = 3).size == 200)
      assert(peak.get <= 3)
    }
  }

  test("pages that are shorter than expected cost requests and no records") {
    RecordsApi.using(records = 60) { api =>
      api.cap = 3
      assert(read(api, 60, depth = 4) == (0L until 60))
    }
  }

  test("nothing is fetched beyond the range") {
    RecordsApi.using(records = 100) { api =>
      assert(read(api, 12, depth = 8) == (0L until 12))
      assert(api.requests().toSet == Set("_start=0&_limit=5", "_start=5&_limit=5", "_start=10&_limit=5"))
    }
  }

  test("a failed page fails after the records of earlier pages") {
    RecordsApi.using(records = 7) { api =>
      val error = intercept[EpochalException](read(api, 40, depth = 4))
      assert(error.condition.name == "DATA_LOSS" && error.getMessage.contains("from offset 7 to 40"))
    }
  }

  test("an interrupt ends a task that waits for a page") {
    RecordsApi.using(records = 100) { api =>
      val (requested, never) = (new CountDownLatch(1), new CountDownLatch(1))
      api.before = () => {
        requested.countDown()
        val _ = never.await(60, TimeUnit.SECONDS)
      }
      @volatile var thrown = Option.empty[Throwable]
      val task = new Thread(() =>
        try { val _ = read(api, 100, depth = 4) }
        catch { case e: Throwable => thrown = Some(e) })
      task.start()
      assert(requested.await(20, TimeUnit.SECONDS))
      task.interrupt()
      task.join(60000)
      never.countDown()
      assert(thrown.exists(_.isInstanceOf[InterruptedException]), thrown)
    }
  }
}
