package io.epochal.rest.source

import java.time.Instant
import java.util.concurrent.atomic.AtomicInteger

import scala.util.Using

import com.github.tomakehurst.wiremock.client.WireMock._
import org.apache.logging.log4j.Level
import org.scalatest.concurrent.Eventually.{eventually, interval, timeout}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.epochal.core.error.EpochalException
import io.epochal.kit.record.Body
import io.epochal.rest.http.{HttpBudget, HttpClient, HttpCounters}
import io.epochal.support.LoggedLines
import io.epochal.testkit.MicroBatch

/** The source's request rate, and its reaction to a server's refusals. */
final class RestPolitenessSuite extends AnyFunSuite with StubbedApi {

  private val paged = Seq("pagination" -> "offset", "pageSize" -> "2")

  private def status(error: EpochalException): String = error.values.getOrElse("status", "")

  /** Duration in milliseconds. */
  private def took(body: => Any): Long = {
    val begin = System.nanoTime()
    val _ = body
    (System.nanoTime() - begin) / 1000000
  }

  test("tasks are at most maxConcurrency, and the driver grants each its part of the budget") {
    val options = read(paged ++ Seq("maxConcurrency" -> "5", "requestsPerSecond" -> "8", "numPartitions" -> "16"): _*)
    val shares = RestPlan.partitions(options, 0, 1000, 1).collect { case RestPartition(_, share) => share }
    assert(
      shares.length == 5 && shares.flatMap(_.maxConcurrency).sum == 5 && shares.flatMap(_.requestsPerSecond).sum == 8)
    val two = RestPlan.partitions(options.copy(numPartitions = Some(2)), 0, 1000, 1)
    assert(two.collect { case RestPartition(_, share) => share.maxConcurrency }.toSeq == Seq(Some(3), Some(2)))
  }

  test("tasks that follow lists in a batch read have their parts of the budget, too") {
    val options = read("pagination" -> "link", "maxConcurrency" -> "4", "requestsPerSecond" -> "8")
    val lists = Seq.fill(6)(MemberPartition(options.requests, ChainPartition(Instant.EPOCH)))
    val tasks =
      FanOutPlan.group(lists, options.requests.http.budget, tasks = 16).collect { case MemberPartitions(parts) =>
        parts.map(_.partition).collect { case ChainPartition(_, share) => share }.distinct
      }
    assert(tasks.toSeq == Seq.fill(4)(Seq(Some(HttpBudget(Some(2.0), Some(1))))))
  }

  test("concurrent tasks and the driver together do not exceed the budget") {
    RecordsApi.using(records = 40) { api =>
      val (running, peak, requests) = (new AtomicInteger, new AtomicInteger, new AtomicInteger)
      api.before = () => {
        val _ = requests.incrementAndGet()
        peak.accumulateAndGet(running.incrementAndGet(), math.max(_, _))
        Thread.sleep(5)
        val _ = running.decrementAndGet()
      }
      val budget = Seq("requestsPerSecond" -> "50", "maxConcurrency" -> "2", "numPartitions" -> "2")
      val source = stream(paged ++ budget :+ ("url" -> api.url): _*)
      val begin = System.nanoTime()
      val start = source.initialOffset()
      val end = MicroBatch.next(source, start, source.getDefaultReadLimit).get
      val factory = source.createReaderFactory()
      val tasks = source.planInputPartitions(start, end).toSeq.map { partition =>
        val task = new Thread(() => Using.resource(factory.createReader(partition))(reader => while (reader.next()) {}))
        task.start()
        task
      }
      tasks.foreach(_.join(60000))
      source.stop()
      assert(requests.get >= 20 && peak.get <= 2)
      // Twenty milliseconds between any two.
      assert((System.nanoTime() - begin) / 1e6 >= (requests.get - 1) * 20)
      assert(metric(source, "waitedMillis") >= 100)
    }
  }

  test("a Retry-After to one task pauses all, up to maxThrottleWait, and then they resume apart") {
    respond(aResponse().withStatus(429).withHeader("Retry-After", "3600"), good)
    val options = read("maxThrottleWait" -> "300ms")
    val counters = new HttpCounters
    val (throttled, other) =
      (new HttpClient(options.requests.http, counters), new HttpClient(options.requests.http, counters))
    def call(client: HttpClient): Unit =
      client.call(options.requests.call(options.requests.pagination.request(0)), new Body)(_ => ())
    val first = new Thread(() => call(throttled))
    first.start()
    eventually(timeout(Span(20, Seconds)), interval(Span(1, Millis)))(assert(counters.value.retries > 0))
    assert(took(call(other)) >= 200)
    first.join(60000)
    assert(requests == 3 && counters.value.throttled == 1 && counters.value.waitedMillis >= 500)
    Seq(throttled, other).foreach(_.close())
  }

  test("a Retry-After of zero counts as absent: the usual delay holds") {
    respond(aResponse().withStatus(429).withHeader("Retry-After", "0"), good)
    val source = stream("retry.initialDelay" -> "1ms", "maxThrottleWait" -> "1h")
    assert(readAll(source).size == 3)
    assert(metric(source, "throttled") == 1)
  }

  test("a Retry-After that cannot be read is logged once, and holds the request for the longest delay of a retry") {
    respond(
      aResponse().withStatus(429).withHeader("Retry-After", s"soon $secret"),
      aResponse().withStatus(429).withHeader("Retry-After", "later"),
      good)
    var millis = 0L
    val lines = LoggedLines.of(Level.WARN) {
      val source = stream("retry.maxDelay" -> "250ms", "headers.X-Key" -> secret)
      millis = took(readAll(source))
    }
    assert(millis >= 500)
    val unread = lines.filter(_.contains("which is not a time"))
    assert(
      unread.size == 1 && unread.head.contains("'Retry-After: soon ***'") && unread.head.contains("250 ms"),
      unread)
  }

  test("a Retry-After in seconds with a fraction, or in milliseconds, is obeyed") {
    Seq("Retry-After" -> "0.3", "Retry-After-Ms" -> "300", "X-RateLimit-Reset-After" -> "0.3").foreach { header =>
      server.resetAll()
      respond(aResponse().withStatus(429).withHeader(header._1, header._2), good)
      assert(took(readAll(stream())) >= 300, header)
    }
  }

  test("an exhausted rate limit in a response holds the next request, and no request is refused") {
    respond(good.withHeader("X-RateLimit-Remaining", "0").withHeader("X-RateLimit-Reset", "3600"), good)
    val source = stream("maxThrottleWait" -> "250ms")
    assert(took(readAll(source)) >= 250)
    assert(metric(source, "throttled") == 0 && metric(source, "retries") == 0 && metric(source, "waitedMillis") >= 100)
  }

  test("a 403 with an exhausted rate limit or a Retry-After means too many requests") {
    Seq(Seq("X-RateLimit-Remaining" -> "0", "X-RateLimit-Reset" -> "1"), Seq("Retry-After" -> "1")).foreach { headers =>
      server.resetAll()
      respond(
        headers.foldLeft(aResponse().withStatus(403)) { case (response, (k, v)) => response.withHeader(k, v) },
        good)
      val source = stream("maxThrottleWait" -> "10ms")
      assert(readAll(source).size == 3 && metric(source, "throttled") == 1)
    }
  }

  test("retry.statuses are retried and no others") {
    respond(statusOf(404), good)
    assert(readAll(stream("retry.statuses" -> "404")).size == 3)
    server.resetAll()
    respond(aResponse().withStatus(503))
    assert(status(failure(readAll(stream("retry.statuses" -> "404,429")))) == "503" && requests == 1)
    server.resetAll()
    respond(aResponse().withStatus(429))
    assert(status(failure(readAll(stream("retry.statuses" -> "none")))) == "429" && requests == 1)
  }

  private def statusOf(code: Int) = aResponse().withStatus(code)

  test("an ignored status, and 204, are empty responses: an API may have no page after its last") {
    Seq(Seq("ignoreStatuses" -> "404") -> 404, Nil -> 204).foreach { case (more, code) =>
      server.resetAll()
      server.stubFor(get(urlPathEqualTo("/c")).willReturn(statusOf(code)))
      server.stubFor(
        get(urlPathEqualTo("/c")).withQueryParam("_start", equalTo("0")).willReturn(okJson("""[{"id":0}]""")))
      server.stubFor(
        get(urlPathEqualTo("/c"))
          .withQueryParam("_start", equalTo("0"))
          .withQueryParam("_limit", equalTo("2"))
          .willReturn(okJson("""[{"id":0},{"id":1}]""")))
      assert(readAll(stream(paged ++ more: _*)).map(_.head) == Seq(0, 1))
    }
  }

  test("an ignored status within a planned batch is data loss, and not an end") {
    respond(good, statusOf(404))
    assert(failure(readAll(stream("ignoreStatuses" -> "4xx"))).condition.name == "DATA_LOSS")
  }

  test("a zero budget, and invalid statuses, are refused by name") {
    Seq(
      "requestsPerSecond" -> "0",
      "requestsPerSecond" -> "often",
      "maxConcurrency" -> "0",
      "retry.statuses" -> "200",
      "ignoreStatuses" -> "all",
      "maxThrottleWait" -> "long").foreach { case (name, value) =>
      val error = failure(read(name -> value))
      assert(error.condition.name == "OPTION_INVALID" && error.getMessage.contains(s"'$name'"), name)
    }
  }

  test("progress names the server, and counts pages and requests") {
    respond(good)
    val source = stream()
    assert(readAll(source).size == 3)
    assert(metric(source, "pages") == 1 && metric(source, "requests") == 2)
    assert(source.metrics(java.util.Optional.empty()).get("server") == s"http://localhost:${server.port}")
  }
}
