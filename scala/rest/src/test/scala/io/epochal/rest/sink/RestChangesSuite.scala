package io.epochal.rest.sink

import java.nio.file.Files
import java.util.concurrent.atomic.AtomicInteger

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.connector.distributions.ClusteredDistribution
import org.apache.spark.sql.connector.expressions.NamedReference
import org.apache.spark.sql.connector.write.RequiresDistributionAndOrdering
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.core.error.EpochalException
import io.epochal.kit.record.ReplicaKey
import io.epochal.support.Examples

/** Change feeds sent to an API: inserts, updates and deletes. */
final class RestChangesSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val feed = new StructType()
    .add("id", LongType)
    .add("word", StringType)
    .add("large", StringType)
    .add("_unchanged_columns", ArrayType(StringType, containsNull = false))
    .add("_change_type", StringType)
    .add("_commit_version", StringType)
    .add("_commit_timestamp", LongType)

  private def text(value: String): UTF8String = Option(value).map(UTF8String.fromString).orNull

  private def change(
      operation: String,
      id: Any,
      word: String = null,
      large: String = null,
      unchanged: Seq[String] = Nil,
      version: Long = 1): InternalRow = {
    val absent = if (unchanged.isEmpty) null else new GenericArrayData(unchanged.map(text).toArray[Any])
    InternalRow(id, text(word), text(large), absent, text(operation), text(f"$version%08d"), 5L)
  }

  private def using(honours: Boolean = true)(body: RestSinkFixture => Any): Unit =
    RestSinkFixture.using(honours) { on =>
      on.schema = feed
      body(on)
    }

  /** One resource per row, deleted by its URL. */
  private def resources(on: RestSinkFixture): Seq[(String, String)] =
    Seq("mode" -> "changes", "method" -> "PUT", "url" -> s"${on.api.url}/{id}", "deleteUrl" -> s"${on.api.url}/{id}")

  /** Elasticsearch's `_bulk`. */
  private def bulk: Seq[(String, String)] = Seq(
    "mode" -> "changes",
    "body" -> "ndjson",
    "batchSize" -> "4",
    "rowTemplate" -> "{\"update\": {\"_id\": \"${id}\"}}\n{\"doc\": ${_row}, \"doc_as_upsert\": true}",
    "deleteTemplate" -> "{\"delete\": {\"_id\": \"${id}\"}}",
    "results" -> "/items",
    "resultStatus" -> "/*/status",
    "resultReason" -> "/*/error/reason"
  )

  private def refused(condition: String)(body: => Any): EpochalException = {
    val error = intercept[EpochalException](body)
    assert(error.condition.name == condition, error.getMessage)
    error
  }

  test("inserts and updates are sent by method, deletes as DELETE, images before an update not at all") {
    using() { on =>
      on.run(resources(on): _*)
        .epoch(
          0,
          Seq(
            change("insert", 1L, "one", "L"),
            change("update_preimage", 1L, "one", "L"),
            change("update_postimage", 1L, "ONE", "L"),
            change("delete", 1L),
            change("U", 2L, "two"),
            change("d", 3L)))
      assert(
        on.api.requests.map(r => (r.method, r.path, r.body)) == Seq(
          ("PUT", "/orders/1", """{"id":1,"word":"one","large":"L"}"""),
          ("PUT", "/orders/1", """{"id":1,"word":"ONE","large":"L"}"""),
          ("DELETE", "/orders/1", ""),
          ("PUT", "/orders/2", """{"id":2,"word":"two","large":null}"""),
          ("DELETE", "/orders/3", "")
        ))
      assert(on.api.keys.distinct.size == 5)
    }
  }

  test("a resource whose column changes without its old value is refused") {
    using() { on =>
      on.schema = StructType(
        ReplicaKey.mark(StructType.fromDDL("id BIGINT"), "orders", "", Seq("code"), hasImages = true) ++
          StructType.fromDDL("code STRING, _change_type STRING, _commit_version STRING"))
      assert(refused("KEY_NOT_FOLLOWED")(on.run(resources(on): _*)).getMessage.contains("keyColumns=code"))
    }
  }

  test("the operation can be in a column of any name, which is in no body and no pre-image") {
    using() { on =>
      on.schema = StructType.fromDDL("id BIGINT, op STRING, _commit_timestamp BIGINT")
      on.run(resources(on) :+ ("opColumn" -> "OP"): _*)
        .epoch(0, Seq(InternalRow(1L, text("c"), 3L), InternalRow(1L, text("D"), 4L)))
      assert(on.api.requests.map(r => (r.method, r.body)) == Seq("PUT" -> """{"id":1}""", "DELETE" -> ""))
    }
  }

  test("columns that a change does not have are left out of its body, and cannot stand in a template") {
    using() { on =>
      val update = change("update_postimage", 1L, "one", unchanged = Seq("large"))
      on.run(resources(on) :+ ("method" -> "PATCH"): _*)
        .epoch(0, Seq(update, change("update_postimage", 2L, unchanged = Seq("large", "word")), change("insert", 3L)))
      assert(
        on.api.requests
          .map(_.body) == Seq("""{"id":1,"word":"one"}""", """{"id":2}""", """{"id":3,"word":null,"large":null}"""))
      val error = refused("ROW_REFUSED")(
        on.run(resources(on) :+ ("rowTemplate" -> "{\"big\": ${large}}"): _*).epoch(1, Seq(update)))
      assert(error.getMessage.contains("the template needs 'large', which this change does not have"))
      refused("ROW_REFUSED")(
        on.run("mode" -> "changes", "deleteTemplate" -> "{\"word\": ${word}}").epoch(2, Seq(change("delete", 1L))))
    }
  }

  test("a row whose key changed and that lacks values is refused") {
    using() { on =>
      val moved = Seq(change("delete", 1L), change("insert", 2L, "one", unchanged = Seq("large")))
      val error = refused("ROW_REFUSED")(on.run(resources(on): _*).epoch(0, moved))
      assert(
        error.getMessage.contains("an update changed its key, and the server left out its unchanged value of large"))
    }
  }

  test("with upsertStatus a missing row is created by a POST to createUrl, under a key of its own") {
    Seq(None -> "/orders", Some("/orders/new?v=1") -> "/orders/new?v=1").foreach { case (createUrl, path) =>
      using() { on =>
        val known = mutable.Set(2L)
        on.api.answer = request => {
          val id = on.api.rows(request).head.get("id").longValue
          if (request.method == "POST") known += id
          Answer(if (known(id)) 200 else 404, "{}")
        }
        val options = resources(on).filterNot(_._1 == "method") ++ Seq("upsertStatus" -> "404") ++
          createUrl.map(url => "createUrl" -> (on.api.url.stripSuffix("/orders") + url))
        on.run(options: _*).epoch(0, Seq(change("insert", 1L), change("update", 2L), change("update", 1L)))
        val sent = on.api.requests
        assert(
          sent.map(r => r.method -> r.path) == Seq(
            "PUT" -> "/orders/1",
            "POST" -> path,
            "PUT" -> "/orders/2",
            "PUT" -> "/orders/1"))
        assert(sent(1).body == sent.head.body && on.api.keys.distinct.size == 4)
        assert(sent(1).key.contains(IdempotencyKey.create(sent.head.key.get)))
        // A server that honours keys repeats its 404: the replay has the same requests, and nothing is applied again.
        on.api.forget()
        on.run(options: _*).epoch(0, Seq(change("insert", 1L), change("update", 2L), change("update", 1L)))
        assert(on.api.requests == sent)
      }
    }
  }

  test("a creation that finds the row of its first attempt is followed by an update") {
    using() { on =>
      val statuses = Iterator(404, 409, 200)
      on.api.intercept = _ => Some(Answer(statuses.next()))
      on.run(resources(on) ++ Seq("upsertStatus" -> "404", "idempotencyHeader" -> "none"): _*)
        .epoch(0, Seq(change("insert", 1L)))
      assert(on.api.requests.map(_.method) == Seq("PUT", "POST", "PUT"))
    }
  }

  test("a creation that finds the row of its first attempt is no dead letter, even with 409 in rejectStatuses") {
    using() { on =>
      val statuses = Iterator(404, 409, 200)
      on.api.intercept = _ => Some(Answer(statuses.next()))
      val letters = Files.createTempDirectory("dead-letters")
      val options =
        Seq(
          "upsertStatus" -> "404",
          "idempotencyHeader" -> "none",
          "rejectStatuses" -> "409",
          "deadLetterPath" -> letters.toString)
      on.run(resources(on) ++ options: _*).epoch(0, Seq(change("insert", 1L)))
      assert(on.api.requests.map(_.method) == Seq("PUT", "POST", "PUT"))
      assert(letters.toFile.list.isEmpty)
      Files.delete(letters)
    }
  }

  test("createUrl is by default the URL without its last segment") {
    Seq("http://h/orders/{id}" -> "/orders", "http://h/orders/{id}/" -> "/orders/", "http://h/a/{id}?v=1" -> "/a?v=1")
      .foreach { case (url, expected) =>
        val settings =
          RestSinkSettings
            .read(Map("url" -> url, "mode" -> "changes", "deleteUrl" -> url, "upsertStatus" -> "404"))
            .fold(throw _, identity)
        assert(settings.changes.get.upsert.get.create.template.target(Nil) == expected && settings.method == "PUT")
      }
  }

  test("a DELETE answered 404 or 410 is done; another refusal is not, and names its URL") {
    using() { on =>
      val statuses = Iterator(404, 410, 503, 204, 405)
      on.api.intercept = request => Some(Answer(if (request.method == "DELETE") statuses.next() else 404))
      val url = s"${on.api.url}/gone/{id}"
      def delete(epoch: Long) =
        on.run(resources(on) :+ ("deleteUrl" -> url): _*).epoch(epoch, Seq(change("delete", epoch)))
      Seq(1L, 2L, 3L).foreach(delete)
      assert(on.api.requests.map(_.path.takeRight(1)) == Seq("1", "2", "3", "3"))
      assert(refused("HTTP_STATUS")(delete(4)).values("url") == s"${on.api.url}/gone/:id")
      val put = refused("HTTP_STATUS")(on.run(resources(on): _*).epoch(5, Seq(change("insert", 1L))))
      assert(put.values("status") == "404")
    }
  }

  test("a row without a known operation, or without the columns in its URL, is a bad row") {
    using() { on =>
      Seq[(String, String)]((null, "is NULL"), "truncate" -> "is 'truncate'", "merge" -> "is 'merge'").zipWithIndex
        .foreach { case ((operation, part), epoch) =>
          val error =
            refused("ROW_REFUSED")(on.run(resources(on): _*).epoch(epoch.toLong, Seq(change(operation, 1L))))
          assert(error.getMessage.contains(s"its '_change_type' $part"), error.getMessage)
        }
      assert(
        refused("ROW_REFUSED")(on.run(resources(on): _*).epoch(7, Seq(change("delete", null)))).getMessage
          .contains("the URL needs 'id', which is NULL"))
      assert(on.api.requests.isEmpty)
    }
  }

  Seq[(String, RestSinkFixture => Seq[(String, String)])](
    ("one request per row", resources),
    ("one request per row, by columns", on => resources(on) :+ ("keyColumns" -> "id")),
    ("_bulk", _ => bulk.filterNot(_._1.startsWith("result")))
  ).foreach { case (name, options) =>
    test(s"$name: a killed task and a replayed epoch send the same requests under the same keys") {
      using() { on =>
        val rows = Seq("insert", "update_postimage", "delete", "insert", "delete").zipWithIndex.map {
          case (operation, i) => change(operation, 1L, s"word $i", version = i.toLong)
        }
        val killed = on.run(options(on): _*).begin(0)
        killed.deadTask(0, 0, rows.take(4))
        val before = on.api.requests
        killed.commit(Seq(killed.task(0, 1, rows)))
        val sent = on.api.requests.drop(before.size)
        assert(before.nonEmpty && sent.startsWith(before) && on.api.keys.distinct.size == sent.size)
        on.api.forget()
        on.run(options(on): _*).epoch(0, rows)
        assert(on.api.requests == sent)
        on.api.forget()
        on.run(options(on): _*).epoch(1, rows.map { row => row.update(5, text(s"1${row.getString(5)}")); row })
        assert(on.api.keys.forall(!sent.flatMap(_.key).contains(_)))
      }
    }
  }

  test("changes of the same row have different keys by columns, and are clustered by row and sorted by version") {
    using() { on =>
      val options = resources(on) :+ ("keyColumns" -> "id")
      on.run(options: _*)
        .epoch(
          0,
          Seq(change("insert", 1L), change("update_postimage", 1L, version = 2), change("delete", 1L, version = 2)))
      assert(on.api.keys.distinct.size == 3)
      val settings = RestSinkSettings
        .read(RestSinkFixture.options(on.api) ++ bulk ++ Seq("keyColumns" -> "id"))
        .fold(throw _, identity)
      val shape = RequestShape.of(feed, settings).fold(throw _, identity)
      val run = new RestSinkRun(settings, shape, "q", null, null, new RestSinkMetrics)
      new RestWriteBuilder(run).build() match {
        case sorted: RequiresDistributionAndOrdering =>
          val clustered = sorted.requiredDistribution().asInstanceOf[ClusteredDistribution].clustering
          assert(clustered.map(_.asInstanceOf[NamedReference].fieldNames.head).toSeq == Seq("id"))
          assert(
            sorted.requiredOrdering.map(_.expression.asInstanceOf[NamedReference].fieldNames.head).toSeq ==
              Seq("id", "_commit_version", "_change_type"))
        case other => fail(s"not sorted: $other")
      }
      val without = RequestShape.of(StructType(feed.filterNot(_.name == "_commit_version")), settings)
      assert(without.left.toOption.get.getMessage.contains("differ in _commit_version, which the query lacks"))
    }
  }

  test(
    "an error of a row within a 200 is seen; a deletion of a missing row is none; later rows are sent again with it") {
    using() { on =>
      val round = new AtomicInteger
      on.api.intercept = request => {
        val items = request.body.linesIterator.filterNot(_.startsWith("{\"doc\"")).toSeq.map { line =>
          val kind = if (line.contains("delete")) "delete" else "update"
          val status =
            if (line.contains("\"2\"") && round.get == 0) 429
            else if (kind == "delete") 404
            else if (line.contains("\"9\"")) 400
            else 200
          val error =
            if (status == 400) ""","error":{"type":"mapper_parsing_exception","reason":"no such field"}""" else ""
          s"""{"$kind":{"_index":"orders","status":$status$error}}"""
        }
        round.incrementAndGet()
        Some(Answer(200, s"""{"took":3,"errors":true,"items":[${items.mkString(",")}]}"""))
      }
      def sent = on.api.requests.map(_.body.linesIterator.filterNot(_.startsWith("{\"doc\"")).toSeq)
      on.run(bulk: _*)
        .epoch(0, Seq(change("insert", 1L), change("insert", 2L), change("delete", 2L), change("insert", 3L)))
      assert(
        sent == Seq(
          Seq("1", "2", "3")
            .map(id => s"""{"update": {"_id": "$id"}}""")
            .patch(2, Seq("""{"delete": {"_id": "2"}}"""), 0),
          Seq("""{"update": {"_id": "2"}}""", """{"delete": {"_id": "2"}}""", """{"update": {"_id": "3"}}""")))
      assert(on.api.keys.distinct.size == 2)
      val error = refused("ROW_REFUSED")(on.run(bulk: _*).epoch(1, Seq(change("insert", 5L), change("insert", 9L))))
      assert(error.values("row") == "2" && error.values("reason") == "400: no such field")
    }
  }

  test("whatever fails on the way, the API has the rows of the table in the end") {
    val changes = Gen.nonEmptyListOf(Gen.zip(Gen.choose(1L, 3L), Gen.frequency(3 -> "upsert", 2 -> "delete")))
    val faults = Gen.listOf(Gen.oneOf(200, 429, 503, 200))
    forAll(changes, faults, Gen.oneOf(true, false), minSuccessful(Examples.of(40))) { (course, statuses, batched) =>
      using(honours = false) { on =>
        val table = mutable.Map.empty[Long, String]
        val rows = course.zipWithIndex.map { case ((id, kind), i) =>
          val stored = kind == "upsert"
          if (stored) table(id) = s"word $i" else table -= id
          change(if (stored) "update" else "delete", id, if (stored) s"word $i" else null, version = i.toLong)
        }
        val found = mutable.Map.empty[Long, String]
        val failing = statuses.iterator
        def next(): Int = if (failing.hasNext) failing.next() else 200
        def apply(kind: String, id: Long, word: => String): Int = {
          val status = next()
          // A 503 may follow the change, a 429 does not.
          if (status != 429) if (kind == "delete") found.remove(id) else found.put(id, word): Unit
          status
        }
        def word(json: String) = "word \\d+".r.findFirstIn(json).get
        on.api.intercept = request =>
          Some(if (batched) {
            val lines = request.body.linesIterator.toSeq
            val items = lines.zipWithIndex.filterNot(_._1.startsWith("{\"doc\"")).map { case (line, i) =>
              val kind = if (line.contains("delete")) "delete" else "update"
              val status = apply(kind, "\\d+".r.findFirstIn(line).get.toLong, word(lines(i + 1)))
              s"""{"$kind":{"status":$status}}"""
            }
            Answer(200, s"""{"items":[${items.mkString(",")}]}""")
          } else {
            val id = request.path.split('/').last.toLong
            Answer(apply(request.method.toLowerCase, id, word(request.body)))
          })
        val options = (if (batched) bulk else resources(on)) ++ Seq("retry.maxAttempts" -> "40")
        on.run(options: _*).epoch(0, rows)
        assert(found == table)
        on.run(options: _*).epoch(0, rows)
        assert(found == table)
      }
    }
  }

  test("options of changes that exclude each other, or lack another, are refused") {
    val changes = Seq("mode" -> "changes", "url" -> "http://h/orders/{id}")
    val complete = changes :+ ("deleteUrl" -> "http://h/orders/{id}")
    Seq(
      Seq("url" -> "http://h/{id}", "opColumn" -> "op") -> "Set mode=changes",
      changes -> "OPTION_REQUIRED",
      (complete :+ ("deleteTemplate" -> "{}")) -> "deleteUrl, deleteTemplate",
      (complete :+ ("createUrl" -> "http://h/orders")) -> "createUrl without upsertStatus",
      (complete ++ Seq("url" -> "http://h/orders", "batchSize" -> "5")) -> "deleteUrl, batchSize=5",
      (complete ++ Seq("upsertStatus" -> "404", "method" -> "POST")) -> "method=POST, upsertStatus",
      (complete :+ ("deleteUrl" -> "http://other/orders/{id}")) -> "a URL on the server of url, http://h",
      (complete ++ Seq("url" -> "http://h", "upsertStatus" -> "404")) -> "createUrl"
    ).foreach { case (options, part) =>
      val error = RestSinkSettings.read(options.toMap).fold(identity, good => fail(s"was taken: $good"))
      assert(error.getMessage.contains(part), error.getMessage)
    }
    def shaped(schema: String, options: (String, String)*) =
      RequestShape
        .of(StructType.fromDDL(schema), RestSinkSettings.read((complete ++ options).toMap).fold(throw _, identity))
        .fold(identity, good => fail(s"was taken: $good"))
    assert(shaped("id INT").condition.name == "OPTION_REQUIRED")
    assert(shaped("id INT, op INT", "opColumn" -> "op").getMessage.contains("a column of type STRING"))
    assert(shaped("id INT, op STRING", "opColumn" -> "opp").getMessage.contains("Did you mean opColumn=op?"))
    assert(shaped("idd INT, op STRING", "opColumn" -> "op").getMessage.contains("one of the query's columns"))
  }
}
