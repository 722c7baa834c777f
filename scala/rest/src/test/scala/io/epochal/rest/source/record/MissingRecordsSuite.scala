package io.epochal.rest.source.record

import java.nio.charset.StandardCharsets.US_ASCII
import java.nio.file.Files
import java.util.concurrent.ConcurrentHashMap

import scala.util.Using

import com.fasterxml.jackson.core.JsonProcessingException
import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.EpochalException
import io.epochal.kit.record.{Body, PageScan, RecordFormat}
import io.epochal.rest.http.{Bodies, HttpCall, HttpClient, HttpCounters, RawServer}
import io.epochal.rest.source.{RecordsApi, RestOptions, RestStreams}
import io.epochal.testkit.MicroBatch

/** Responses that lack the records, or have null in their place. */
final class MissingRecordsSuite extends AnyFunSuite {

  private val place = "http://127.0.0.1/c"

  private val missing =
    Seq("{}", """{"items":null}""", """{"a":{"items":null},"n":[1]}""", """{"a":null}""", """{"item":1,"a":{}}""")
  private val wrong = Seq("[]", "7", "\"x\"", """{"items":{}}""", """{"items":"no"}""", """{"items":0}""")

  private def pointer(json: String): String = if (json.contains("\"a\"")) "/a/items" else "/items"

  test("with missingRecords=empty a response without the array, or with null in its place, has no records") {
    missing.foreach { json =>
      assert(RecordFormat.Json(pointer(json), mayMiss = true).count(Bodies.of(json), place) == 0, json)
      val scan = PageScan.of(RecordFormat.Json(pointer(json), mayMiss = true), place, Seq("/n/0"))
      val scanned = scan.read(Bodies.of(json))
      assert(scanned.records == 0 && scanned.values.get("/n/0").flatten == Option.when(json.contains("\"n\""))("1"))
    }
    assert(RecordFormat.Json("", mayMiss = true).count(Bodies.of("null"), place) == 0)
  }

  test("by default they are RECORDS_NOT_FOUND, which names the option; so is any other value with it") {
    def refused(json: String, mayMiss: Boolean): Unit = {
      val format = RecordFormat.Json(pointer(json), mayMiss)
      val error = intercept[EpochalException](format.count(Bodies.of(json), place))
      assert(error.condition.name == "RECORDS_NOT_FOUND" && error.getMessage.contains("missingRecords=empty"))
      val scan = PageScan.of(RecordFormat.Json(pointer(json), mayMiss), place, Nil)
      assert(intercept[EpochalException](scan.read(Bodies.of(json))).condition.name == "RECORDS_NOT_FOUND", json)
    }
    missing.foreach(refused(_, mayMiss = false))
    wrong.foreach(refused(_, mayMiss = true))
  }

  test("the error suggests the array of objects that is beside the missing one") {
    Seq(
      ("""{"meta":{"a":[{}]},"tags":["x",["y"]],"data":[{"id":[1]},2],"more":[{}]}""", "", "/data"),
      ("""{"page":1,"result":{"rows":[{}]}}""", "/result/items", "/result/rows"),
      ("""{"a/b":[{}]}""", "/items", "/a~1b"),
      ("""{"data":{"meta":{}}}""", "", "/data/items"),
      ("""{"a}b":[{}]}""", "", "/data/items")
    ).foreach { case (json, pointer, meant) =>
      val error = intercept[EpochalException](RecordFormat.Json(pointer).count(Bodies.of(json), place))
      assert(error.getMessage.contains(s"like records=$meant, or"), json)
    }
  }

  test("a response that breaks off is not an empty page") {
    Seq("""{"items":null""", "{", """{"b":1,"items":null,"c":""", "").foreach { json =>
      intercept[JsonProcessingException](RecordFormat.Json("/items", mayMiss = true).count(Bodies.of(json), place))
      val scan = PageScan.of(RecordFormat.Json("/items", mayMiss = true), place, Nil)
      intercept[JsonProcessingException](scan.read(Bodies.of(json)))
    }
  }

  for {
    kind <- Seq("none", "offset", "page")
    journal <- Seq(false, true)
    (name, empty) <- Seq("an object" -> """{"total":0}""", "an empty body" -> "", "white space" -> " \r\n")
  }
    test(
      s"$kind${if (journal) " with a journal" else ""}: a list is followed from its first record on, and past its end, with $name for no records") {
      RecordsApi.using(0) { api =>
        api.body = array => if (array == "[]") empty else s"""{"data":$array}"""
        val options =
          Seq("pagination" -> kind, "records" -> "/data", "missingRecords" -> "empty", "retry.initialDelay" -> "1ms") ++
            Option.when(kind != "none")("pageSize" -> "10") ++ Option.when(journal)("journal" -> "true")
        val schema = StructType.fromDDL("id INT, name STRING")
        val stream = RestStreams.over(api.url, Files.createTempDirectory("rest").resolve("0"), schema, options: _*)
        val delivered = Seq(0, 4, 10, 20, 25).scanLeft((stream.initialOffset(), Seq.empty[Int])) {
          case ((at, _), count) =>
            api.count = count
            MicroBatch.next(stream, at, ReadLimit.allAvailable()).fold((at, Seq.empty[Int])) { end =>
              (end, MicroBatch.read(stream, schema, at, end).map(_.head.asInstanceOf[Int]))
            }
        }
        assert(delivered.flatMap(_._2) == (0 until 25))
      }
    }

  for {
    kind <- Seq("none", "offset", "page")
    journal <- Seq(false, true)
  }
    test(s"$kind${if (journal) " with a journal" else ""}: a single empty body is not believed, so no record is lost") {
      RecordsApi.using(25) { api =>
        val seen = ConcurrentHashMap.newKeySet[String]()
        api.body = array => if (seen.add(array)) "" else s"""{"data":$array}"""
        val options = Seq(
          "pagination" -> kind,
          "records" -> "/data",
          "missingRecords" -> "empty",
          "failOnDataLoss" -> "false",
          "retry.initialDelay" -> "1ms") ++
          Option.when(kind != "none")("pageSize" -> "10") ++ Option.when(journal)("journal" -> "true")
        val schema = StructType.fromDDL("id INT, name STRING")
        val stream = RestStreams.over(api.url, Files.createTempDirectory("rest").resolve("0"), schema, options: _*)
        val start = stream.initialOffset()
        val end = MicroBatch.next(stream, start, ReadLimit.allAvailable()).get
        assert(MicroBatch.read(stream, schema, start, end).map(_.head) == (0 until 25))
      }
    }

  test(
    "200 and 202 with an empty body are an empty page with missingRecords=empty, and otherwise an error that names it") {
    val whole = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
    val unended = "HTTP/1.0 200 OK\r\n\r\n"
    def first(response: String, missing: String): Long =
      Using.resource(new RawServer()((_, out) => out.write(response.getBytes(US_ASCII)))) { server =>
        val options = RestOptions
          .read(Map("url" -> server.url, "missingRecords" -> missing, "retry.maxAttempts" -> "1"))
          .fold(throw _, identity)
        Using.resource(new HttpClient(options.requests.http, new HttpCounters)) { client =>
          val body = new Body
          client.call(HttpCall("GET", "/c"), body)(_ => RecordFormat.Json("").count(body, place))
        }
      }
    Seq(whole, whole.replace("202 Accepted", "200 OK"), whole.replace("0\r\n\r\n", "1\r\n\r\n\n")).foreach { response =>
      assert(first(response, "empty") == 0)
      val error = intercept[EpochalException](first(response, "fail"))
      assert(error.condition.name == "HTTP_BODY_INVALID" && error.getMessage.contains("the body is empty"), error)
      assert(error.getMessage.contains("missingRecords=empty") && !error.getMessage.contains("login"))
    }
    // Nothing but the end of the connection says where this body ends: it may be cut.
    val error = intercept[EpochalException](first(unended, "empty"))
    assert(error.condition.name == "HTTP_BODY_INVALID" && error.getMessage.contains("login page"), error)
  }

  test("missingRecords requires JSON") {
    val refused = RestOptions
      .read(Map("url" -> "http://127.0.0.1/c", "bodyFormat" -> "csv", "missingRecords" -> "empty"))
      .left
      .toOption
      .get
    assert(refused.condition.name == "OPTION_CONFLICT" && refused.getMessage.contains("missingRecords"))
  }
}
