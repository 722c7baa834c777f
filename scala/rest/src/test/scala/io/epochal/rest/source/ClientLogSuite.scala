package io.epochal.rest.source

import java.util.concurrent.atomic.AtomicInteger

import scala.util.Using

import org.apache.logging.log4j.Level
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.kit.record.Body
import io.epochal.rest.http.{HttpClient, HttpCounters}
import io.epochal.support.LoggedLines

final class ClientLogSuite extends AnyFunSuite {

  test("even at DEBUG no possible secret of a request is logged") {
    RecordsApi.using(records = 3) { api =>
      val options = RestOptions
        .read(
          Map(
            "url" -> api.url,
            "headers.X-Key" -> "Mk7-header",
            "params.key" -> "Mk7-param",
            "bearerToken" -> "Mk7-token") +
            ("apiKey" -> "Mk7-key") + ("apiKeyParam" -> "api_key"))
        .fold(throw _, identity)
      val lines =
        LoggedLines.of(Level.DEBUG)(Using.resource(new HttpClient(options.requests.http, new HttpCounters)) { client =>
          client.call(options.requests.call(options.requests.pagination.request(0)), new Body)(_ => ())
        })
      assert(lines.contains("LoggedLines begins"))
      assert(lines.filter(_.contains("Mk7")) == Nil)
    }
  }

  test("each retry warns once, with its attempt, the maximum and the problem, and without the hint") {
    RecordsApi.using(records = 3) { api =>
      val requests = new AtomicInteger
      api.before = () => api.status = if (requests.incrementAndGet() <= 3) 503 else 200
      val options = RestOptions
        .read(
          Map("url" -> api.url, "retry.maxAttempts" -> "8", "retry.initialDelay" -> "1ms", "retry.maxDelay" -> "1ms"))
        .fold(throw _, identity)
      val lines = LoggedLines
        .of(Level.WARN)(Using.resource(new HttpClient(options.requests.http, new HttpCounters)) { client =>
          client.call(options.requests.call(options.requests.pagination.request(0)), new Body)(_ => ())
        })
        .filter(_.contains(api.url))
      assert(lines.size == 3, lines)
      lines.zipWithIndex.foreach { case (line, i) =>
        val attempt = s"Attempt ${i + 1} of 8 failed, the next one follows in \\d+ ms: "
        assert(
          line.matches(s"${classOf[HttpClient].getName} $attempt\\[EPOCHAL\\.HTTP_STATUS\\] .*${i + 1} attempts?\\).*"),
          line)
        assert(!line.contains("Hint:"), line)
      }
    }
  }
}
