package io.epochal.rest.source.record

import scala.util.Using

import com.github.tomakehurst.wiremock.client.WireMock._
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.kit.record.RecordReading
import io.epochal.rest.http.HttpCounters
import io.epochal.rest.source._

/** Successful responses that are errors. */
final class BodyErrorsSuite extends AnyFunSuite with StubbedApi {

  private val rules = Seq(
    "records" -> "/data",
    "errorPointer" -> "/error",
    "okPointer" -> "/ok",
    "retryErrors" -> "ratelimited,timeout",
    "emptyErrors" -> "not_found",
    "headers.Authorization" -> s"Bearer $secret")

  private def listed(records: String, around: String = "") = okJson(s"""{"data":$records$around}""")
  private val ended = ""","meta":{"next":null,"url":null,"more":false}"""

  /** The options of each kind of pagination over one page. */
  private val kinds = Map(
    "none" -> Nil,
    "offset" -> Seq("pagination" -> "offset", "pageSize" -> "10"),
    "page" -> Seq("pagination" -> "page", "pageSize" -> "10"),
    "time-window" -> Seq(
      "pagination" -> "time-window",
      "windowStart" -> java.time.Instant
        .now()
        .minusSeconds(3600)
        .truncatedTo(java.time.temporal.ChronoUnit.SECONDS)
        .toString,
      "windowLength" -> "40m",
      "lag" -> "0s")) ++ ChainApi.kinds.map { case (kind, options) =>
    kind -> (options.filter(_._1 != "records") ++ Option.when(kind == "keyset")("hasMore" -> "/meta/more"))
  }

  private def batch(more: (String, String)*): Seq[Int] = {
    val options = read(more: _*)
    val factory = new RestReaderFactory(options.requests, RecordReading(schema, "UTC"), new HttpCounters, None)
    val partition = options.requests.paging match {
      case _: ChainedPagination => ChainPartition(java.time.Instant.now())
      case _ =>
        val records = Using.resource(new RestFrontier(options, new HttpCounters))(_.exists(0, Long.MaxValue))
        RestPartition(RecordRange(0, records), options.requests.http.budget)
    }
    Using.resource(factory.createReader(partition)) { reader =>
      Iterator.continually(reader).takeWhile(_.next()).map(_.get().getInt(0)).toVector
    }
  }

  kinds.foreach { case (kind, options) =>
    val end = if (kind == "link") Seq("endOfList" -> "assumed") else Nil
    val all = rules ++ options ++ end

    test(s"$kind: an error in the first response fails a stream and a batch read") {
      val error = s"""{"ok":false,"error":"account $secret is closed"}"""
      val reads = Seq[Seq[(String, String)] => Any](more => readAll(stream(more: _*)), more => batch(more: _*))
      reads.foreach { read =>
        server.resetAll()
        respond(okJson(error))
        val failed = failure(read(all))
        assert(failed.condition.name == "HTTP_ERROR_IN_BODY" && failed.getMessage.contains("account *** is closed"))
        assert(requests == 1)
      }
    }

    test(s"$kind: a transient error is requested again") {
      respond(
        okJson("""{"ok":false,"error":"ratelimited"}"""),
        okJson("""{"error":"TimeOut"}"""),
        listed("""[{"id":1}]""", ended))
      // Behind the only record.
      Seq("page" -> "2", "_start" -> "1", "_start" -> "10").foreach { case (name, value) =>
        server.stubFor(
          get(urlPathEqualTo("/c")).atPriority(1).withQueryParam(name, equalTo(value)).willReturn(listed("[]")))
      }
      assert(readAll(stream(all: _*)).map(_.head) == Seq(1))
    }

    test(s"$kind: an error that means no records is an empty page") {
      respond(okJson("""{"ok":false,"error":"not_found"}"""))
      assert(readAll(stream(all: _*)).isEmpty && batch(all: _*).isEmpty)
    }
  }

  test("a transient error that stays fails with its text after the last attempt") {
    respond(okJson("""{"error":"timeout"}"""))
    val error = failure(readAll(stream(rules :+ ("retry.maxAttempts" -> "3"): _*)))
    assert(error.condition.name == "HTTP_ERROR_IN_BODY" && error.getMessage.contains("(3 attempts): timeout"))
  }

  test("null, false, 0 and empty values are no errors; everything else is") {
    Seq("null", "false", "0", "\"\"", "\" \"", "[]", "{}").foreach { none =>
      server.resetAll()
      respond(listed("""[{"id":1}]""", s""","error":$none,"ok":true"""))
      assert(readAll(stream(rules: _*)).size == 1, none)
    }
    Seq("true" -> "true", "\"bad\"" -> "bad", "17" -> "17", """{"code":429,"m":"x"}""" -> """{"code":429,"m":"x"}""")
      .foreach { case (json, text) =>
        server.resetAll()
        respond(listed("""[{"id":1}]""", s""","error":$json"""))
        assert(failure(readAll(stream(rules: _*))).getMessage.contains(s": $text."), json)
      }
  }

  test("a false flag is an error without a text of its own") {
    Seq("false", "0", "\"false\"", "\"False\"").foreach { flag =>
      server.resetAll()
      respond(listed("[]", s""","ok":$flag"""))
      assert(failure(readAll(stream(rules: _*))).getMessage.contains("'/ok' is false"), flag)
    }
  }

  test("a transient error is also found within an object or array") {
    respond(
      okJson("""{"error":[{"message":"slow down","extensions":{"code":"RATELIMITED"}}]}"""),
      okJson("""{"error":{"code":"timeout"}}"""),
      listed("""[{"id":1}]"""))
    assert(readAll(stream(rules: _*)).size == 1)
  }

  test("an error in a later page fails before any of its records is delivered") {
    server.stubFor(
      get(urlPathEqualTo("/c")).willReturn(listed((0 until 10).map(i => s"""{"id":$i}""").mkString("[", ",", "]"))))
    server.stubFor(
      get(urlPathEqualTo("/c")).withQueryParam("page", equalTo("2")).willReturn(listed("[]", ""","error":"gone"""")))
    val options = rules ++ Seq("pagination" -> "page", "pageSize" -> "10")
    assert(failure(readAll(stream(options: _*))).getMessage.contains("gone"))
  }

  test("a body that is cut is requested again, as without rules") {
    respond(aResponse().withBody("""{"data":[{"id":1}],"err"""), listed("""[{"id":1}]"""))
    assert(readAll(stream(rules: _*)).size == 1)
  }

  test("lists of errors need a place of errors, and all rules need JSON") {
    def refused(more: (String, String)*) = RestOptions.read(Map("url" -> url) ++ more).left.toOption.get.getMessage
    assert(refused("retryErrors" -> "x").contains("retryErrors without errorPointer"))
    assert(refused("emptyErrors" -> "x", "okPointer" -> "/ok").contains("emptyErrors without errorPointer"))
    assert(refused("okPointer" -> "/ok", "bodyFormat" -> "csv").contains("okPointer without bodyFormat=json"))
  }
}
