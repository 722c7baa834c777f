package io.epochal.rest.sink

import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.rest.source.RestOptions

/** Checks of the sink's options before a query starts. */
final class RestSinkOptionsSuite extends AnyFunSuite {

  private val url = "url" -> "http://127.0.0.1/orders"
  private val columns = StructType.fromDDL("id BIGINT, name STRING, tags ARRAY<STRING>, `a b` INT")

  private def read(options: (String, String)*): RestSinkSettings =
    RestSinkSettings.read(options.toMap).fold(throw _, identity)

  private def refused(options: (String, String)*): EpochalException =
    RestSinkSettings
      .read(options.toMap)
      .flatMap(RequestShape.of(columns, _))
      .fold(identity, good => fail(s"was taken: $good"))

  test("an unknown option is refused with the nearest known one, an invalid value by its option") {
    assert(refused(url, "batchsize2" -> "5").getMessage.contains("Did you mean 'batchSize'?"))
    assert(refused(url, "pagination" -> "offset").condition.name == "OPTION_UNKNOWN")
    assert(refused().getMessage.contains("needs the option 'url'"))
    Seq(
      "method" -> "GET",
      "body" -> "xml",
      "batchSize" -> "0",
      "results" -> "items",
      "idempotencyHeader" -> "a b",
      "deadLetterPath" -> "").foreach { option =>
      val error = refused(url, option)
      assert(error.condition.name == "OPTION_INVALID" && error.getMessage.contains(s"'${option._1}'"), option)
    }
  }

  test("a column without an exact form in JSON is refused before a query starts, also within others") {
    val place = GeometryType(4326)
    Seq(place, ArrayType(place), MapType(StringType, new StructType().add("at", place))).foreach { kind =>
      val error =
        RequestShape.of(columns.add("place", kind), read(url)).fold(identity, good => fail(s"was taken: $good"))
      assert(error.condition == Conditions.TypeUnsupported && error.values("column") == "place")
    }
    assert(RequestShape.of(columns.add("at", TimeType(6)).add("more", VariantType), read(url)).isRight)
  }

  test("mutually exclusive options are refused, naming the one to leave out") {
    Seq(
      Seq("batchBytes" -> "1m") -> "batchBytes",
      Seq("flushInterval" -> "1s", "idempotencyHeader" -> "none") -> "flushInterval",
      Seq("batchSize" -> "5", "body" -> "object") -> "body=object",
      Seq("batchSize" -> "5", "url" -> "http://h/{id}") -> "a column in url",
      Seq("batchSize" -> "5", "flushInterval" -> "1s") -> "flushInterval",
      Seq("idempotencyHeader" -> "none", "keyColumns" -> "id") -> "keyColumns",
      Seq("keyColumns" -> "id", "numPartitions" -> "3") -> "numPartitions",
      Seq("resultStatus" -> "/s") -> "resultStatus",
      Seq("maxBadRows" -> "5", "rejectStatuses" -> "400") -> "rejectStatuses, maxBadRows",
      Seq("headers.idempotency-key" -> "x") -> "headers.idempotency-key",
      Seq("headers.Content-Type" -> "x") -> "headers.Content-Type"
    ).foreach { case (options, named) =>
      val error = refused(url +: options: _*)
      assert(error.condition.name == "OPTION_CONFLICT", options)
      assert(error.getMessage.contains(named), error.getMessage)
    }
    val pieces = Seq("batchSize" -> "5", "flushInterval" -> "1s", "batchBytes" -> "1k", "idempotencyHeader" -> "none")
    assert(read(url +: pieces: _*).batchBytes == 1024)
    assert(
      read(url, "keyColumns" -> "id", "batchSize" -> "2", "numPartitions" -> "3").values(
        RestSinkOptions.NumPartitions) == 3)
  }

  test("queries of one budgetName share their budget, a source and a sink too; others have their own") {
    def source(options: (String, String)*) =
      RestOptions.read((options :+ ("url" -> "http://127.0.0.1/c")).toMap).fold(throw _, identity).requests.http.query
    val name = "budgetName" -> "shop"
    assert(read(url, name).http.query == source(name) && read(url).http.query != read(url).http.query)
    assert(source(name) != source("budgetName" -> "other"))
  }

  test("asynchronous progress tracking is refused: an epoch's number must identify its rows") {
    assert(refused(url, "asyncProgressTrackingEnabled" -> "true").condition.name == "MODE_UNSUPPORTED")
  }

  test("missing columns, and columns without a single value where one is needed, are refused by name") {
    Seq(
      "url" -> "http://h/{idd}" -> "Did you mean url=…{id}…?",
      "url" -> "http://h/{tags}" -> "tags ARRAY<STRING>",
      "keyColumns" -> "id,nam" -> "is 'nam', which is not one of the query's columns id, name, tags, a b. Hint: Did you mean keyColumns=id,name?",
      "keyColumns" -> "tags" -> "tags ARRAY<STRING>",
      "rowTemplate" -> "{\"x\": ${nope}}" -> "nope",
      "rowTemplate" -> "{\"x\": ${nam}}" -> "Did you mean rowTemplate=…${name}…?",
      "rowTemplate" -> ("{\"x\": \"$" + "{tags}\"}") -> "tags",
      "rowTemplate" -> "{\"x\": \"${_row}\"}" -> "_row"
    ).foreach { case (option, part) =>
      val error = refused(url, option)
      assert(error.condition.name == "OPTION_INVALID" && error.getMessage.contains(part), error.getMessage)
    }
  }

  test("templates that cannot be filled are refused") {
    Seq(
      "rowTemplate" -> "{\"a\": ${id",
      "rowTemplate" -> "{\"a\": ${}}",
      "rowTemplate" -> "{\"a: ${id}}",
      "bodyTemplate" -> "{}",
      "bodyTemplate" -> "{\"a\": \"${_rows}\"}",
      "bodyTemplate" -> "[${_rows}, ${_rows}]",
      "bodyTemplate" -> "{\"a\": ${id}, \"b\": ${_rows}}"
    ).foreach(option => assert(refused(url, option).condition.name == "OPTION_INVALID", option))
  }

  test("values in a URL are encoded, and cannot change its structure") {
    val template =
      read("url" -> "http://h/a%20b/{id}/x?y={a b}&z=1#f", "params.name" -> "{name}", "params.fixed" -> "1 2").url
    assert(template.columns == Seq("id", "a b", "name"))
    assert(
      template.target(Seq("5/../6?x=1", "ü&", "a+b")) ==
        "/a%20b/5%2F..%2F6%3Fx%3D1/x?y=%C3%BC%26&z=1&fixed=1%202&name=a%2Bb")
    assert(template.target(Seq("..", ".", "")).startsWith("/a%20b/%2E%2E/x?y=%2E"))
    assert(refused("url" -> "http://{name}.example.com/").getMessage.contains("after its host"))
    assert(refused("url" -> "{name}").condition.name == "OPTION_INVALID")
    assert(read("url" -> "http://h/orders/{id}?key=s3cret").place == "http://h/orders/:id")
  }

  test("an idempotency key is a UUID version 5 that anyone can recompute") {
    // uuid.uuid5(uuid.UUID("2f0a2a1e-6d1b-5c55-9d0e-8f6b1c7e4a90"), '["columns","orders",null]\n{"id":1}') in Python
    val batch = new RequestBatch(false)
    val name = IdempotencyKey.byColumns("orders", None)
    val expected = java.security.MessageDigest.getInstance("SHA-1")
    val space = IdempotencyKey.Namespace
    expected.update(
      java.nio.ByteBuffer
        .allocate(16)
        .putLong(space.getMostSignificantBits)
        .putLong(space.getLeastSignificantBits)
        .array)
    expected.update("[\"columns\",\"orders\",null]".getBytes)
    val bytes = expected.digest()
    val key = java.util.UUID.fromString(batch.keyByColumns(name))
    assert(key.version == 5 && key.variant == 2)
    assert(key.getMostSignificantBits >>> 16 == java.nio.ByteBuffer.wrap(bytes).getLong >>> 16)
    assert(new String(IdempotencyKey.byPlace("a\"b", "7", 0, 5, 2, Seq("x"))) == """["place","a\"b","7",0,5,2,["x"]]""")
  }
}
