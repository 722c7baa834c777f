package io.epochal.rest.sink

import java.nio.file.Files
import java.util.UUID

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.write.RequiresDistributionAndOrdering
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.EpochalException
import io.epochal.core.ledger.TriggerMode

/** Requests, their keys, and the handling of responses; driven by hand. */
final class RestSinkSuite extends AnyFunSuite {

  private def refused(condition: String)(body: => Any): EpochalException = {
    val error = intercept[EpochalException](body)
    assert(error.condition.name == condition, error.getMessage)
    error
  }

  private def rows(on: RestSinkFixture, range: Range): Seq[InternalRow] = range.map(n => on.row(n.toLong))

  test("each row is a request with its own key, in the order of the rows") {
    RestSinkFixture.using() { on =>
      on.run().epoch(0, rows(on, 0 until 3))
      assert(on.api.requests.map(_.body) == (0 until 3).map(n => s"""{"id":$n,"word":"row $n"}"""))
      assert(on.api.requests.forall(r => r.method == "POST" && r.contentType == "application/json"))
      assert(on.api.keys.distinct.size == 3)
    }
  }

  test("batches end at batchSize, and before the row that would exceed batchBytes") {
    RestSinkFixture.using() { on =>
      on.run("batchSize" -> "4").epoch(0, rows(on, 0 until 10))
      assert(on.api.requests.map(on.api.rows(_).size) == Seq(4, 4, 2))
      assert(on.api.requests.head.body.startsWith("[{") && on.api.requests.head.body.endsWith("}]"))
      on.api.forget()
      val one = on.row(100)
      val bytes = """{"id":100,"word":"row 100"}""".length
      on.run("batchSize" -> "4", "batchBytes" -> (2 * bytes).toString)
        .epoch(1, Seq.fill(5)(one) :+ InternalRow(1L, UTF8String.fromString("x" * 1000)) :+ one)
      assert(on.api.requests.map(on.api.rows(_).size) == Seq(2, 2, 1, 1, 1))
    }
  }

  test("a replayed epoch sends the same requests under the same keys, and a server that honours them applies it once") {
    Seq(Nil, Seq("batchSize" -> "4"), Seq("keyColumns" -> "id"), Seq("keyColumns" -> "id", "batchSize" -> "4")).foreach {
      more =>
        RestSinkFixture.using() { on =>
          on.run(more: _*).epoch(7, rows(on, 0 until 10), rows(on, 10 until 15))
          val first = on.api.requests
          on.api.forget()
          val again = on.run(more: _*)
          again.epoch(7, rows(on, 0 until 10), rows(on, 10 until 15))
          assert(on.api.requests == first && first.flatMap(_.key).distinct.size == first.size, more)
          assert(on.api.applied == (0L until 15L), more)
          on.run(more: _*).epoch(8, rows(on, 20 until 25), Nil)
          assert(on.api.applied == (0L until 15L) ++ (20L until 25L), more)
        }
    }
  }

  test("a server that ignores keys gets the rows at least once") {
    RestSinkFixture.using(honours = false) { on =>
      on.run().epoch(0, rows(on, 0 until 5))
      on.run().epoch(0, rows(on, 0 until 5))
      assert(on.api.applied.distinct == (0L until 5L) && on.api.applied.size == 10)
    }
  }

  test("an attempt that dies in the middle is repeated by the next one, under the same keys") {
    RestSinkFixture.using() { on =>
      val epoch = on.run("batchSize" -> "2").begin(0)
      epoch.deadTask(0, 0, rows(on, 0 until 5))
      epoch.commit(Seq(epoch.task(0, 1, rows(on, 0 until 7))))
      assert(on.api.applied == (0L until 7L))
      assert(on.api.requests.size == 6 && on.api.keys.distinct.size == 4)
    }
  }

  test("equal rows in different positions, epochs and partitions are different requests") {
    RestSinkFixture.using() { on =>
      val run = on.run()
      run.epoch(0, Seq.fill(3)(on.row(1)), Seq.fill(2)(on.row(1)))
      run.epoch(1, Seq.fill(3)(on.row(1)), Nil)
      assert(on.api.applied.size == 8)
    }
  }

  test("different rows in the same position have different keys: a replay's rows are sent, and not lost") {
    RestSinkFixture.using() { on =>
      on.run().epoch(0, rows(on, 0 until 5))
      on.run().epoch(0, rows(on, 5 until 10))
      assert(on.api.applied == (0L until 10L))
    }
  }

  test("rows of the same key columns are one request, in every epoch and by every query of the sinkId") {
    RestSinkFixture.using() { on =>
      on.run("keyColumns" -> "ID", "sinkId" -> "orders").epoch(0, rows(on, 0 until 5))
      on.run("keyColumns" -> "id", "sinkId" -> "orders").epoch(9, rows(on, 3 until 8).reverse)
      assert(on.api.applied == (0L until 8L))
      on.run("keyColumns" -> "id", "sinkId" -> "others").epoch(10, rows(on, 0 until 1))
      assert(on.api.applied.count(_ == 0) == 2)
    }
  }

  test("in update mode the same key columns in a later epoch are another request") {
    RestSinkFixture.using() { on =>
      on.outputMode = OutputMode.Update
      Seq(0L, 0L, 1L).foreach(on.run("keyColumns" -> "id").epoch(_, rows(on, 0 until 2)))
      assert(on.api.applied == Seq(0L, 0L, 1L, 1L))
    }
  }

  test("requests of several rows with key columns are clustered and sorted by them, others keep their partitions") {
    RestSinkFixture.using() { on =>
      val table =
        RestSinkSettings.read(RestSinkFixture.options(on.api) ++ Map("keyColumns" -> "id", "batchSize" -> "5"))
      assert(table.isRight)
      assert(!on.run().write().isInstanceOf[RequiresDistributionAndOrdering])
      val settings = table.fold(throw _, identity)
      val shape = RequestShape.of(on.schema, settings).fold(throw _, identity)
      val run = new RestSinkRun(settings, shape, "q", null, null, new RestSinkMetrics)
      new RestWriteBuilder(run).build() match {
        case sorted: RequiresDistributionAndOrdering =>
          assert(sorted.requiredNumPartitions == 4 && sorted.requiredOrdering.length == 1)
        case other => fail(s"not sorted: $other")
      }
    }
  }

  test("a plan whose order may change is refused before anything is sent, naming the operator and a remedy") {
    RestSinkFixture.using() { on =>
      on.hindrance = Some("the operator Aggregate")
      val error = refused("ORDER_NOT_REPEATABLE")(on.run().epoch(0, rows(on, 0 until 2)))
      assert(error.getMessage.contains("Aggregate") && error.getMessage.contains("Set keyColumns"))
      assert(on.api.requests.isEmpty)
      on.run("keyColumns" -> "id").epoch(0, rows(on, 0 until 2))
      on.run("idempotencyHeader" -> "none").epoch(1, rows(on, 2 until 4))
      assert(on.api.applied == (0L until 4L))
    }
  }

  test("a replayed epoch with other partitions or batches is refused, since its keys would differ") {
    RestSinkFixture.using() { on =>
      on.run().begin(3, partitions = 2)
      val error = refused("EPOCH_PARTITIONING_CHANGED")(on.run().begin(3, partitions = 4))
      assert(error.getMessage.contains("2 partitions") && error.getMessage.contains("4 partitions"))
      refused("EPOCH_PARTITIONING_CHANGED")(on.run("batchSize" -> "2").begin(3, partitions = 2))
      val again = on.run()
      again.epoch(3, rows(on, 0 until 1), Nil)
      assert(
        again.metrics("repeatedEpochs") == "1" && again.metrics("epoch") == "3" && again.metrics("requests") == "1")
    }
  }

  test("a replayed epoch with other key columns, or other rows per request, is refused") {
    RestSinkFixture.using() { on =>
      Seq(
        Seq.empty -> Seq("keyColumns" -> "id"),
        Seq("keyColumns" -> "id") -> Seq.empty,
        Seq("keyColumns" -> "id") -> Seq("keyColumns" -> "id", "batchSize" -> "5"),
        Seq("keyColumns" -> "id", "batchSize" -> "5") -> Seq("keyColumns" -> "id"),
        Seq("keyColumns" -> "id", "batchSize" -> "5") -> Seq("keyColumns" -> "id,word", "batchSize" -> "5"),
        Seq("keyColumns" -> "id") -> Seq("keyColumns" -> "id", "sinkId" -> "others")
      ).zipWithIndex.foreach { case ((first, second), epoch) =>
        on.run(first: _*).begin(epoch.toLong)
        refused("EPOCH_PARTITIONING_CHANGED")(on.run(second: _*).begin(epoch.toLong))
        on.run(first: _*).begin(epoch.toLong)
      }
    }
  }

  test("without key columns a new query under the same sinkId has its own keys") {
    RestSinkFixture.using() { on =>
      on.run("sinkId" -> "orders").epoch(0, rows(on, 0 until 1))
      on.query = UUID.randomUUID.toString
      on.run("sinkId" -> "orders").epoch(0, rows(on, 0 until 1))
      assert(on.api.applied == Seq(0L, 0L))
    }
  }

  test("an incomplete record of an epoch's partitions counts as an epoch with nothing sent") {
    RestSinkFixture.using() { on =>
      on.run().begin(3, partitions = 2)
      val note = on.checkpoint.resolve("epochal-rest").resolve("3")
      Seq("", "{\"v\":1,\"requests\":\"2 partit").foreach { torn =>
        Files.writeString(note, torn)
        on.run().begin(3, partitions = 4)
        assert(Files.readString(note).contains("4 partitions"))
      }
      on.run().begin(103, partitions = 2)
      assert(Files.notExists(note))
    }
  }

  test("continuous and real-time triggers are refused by name") {
    RestSinkFixture.using() { on =>
      Seq(TriggerMode.Continuous, TriggerMode.RealTime).foreach { mode =>
        on.trigger = mode
        refused("TRIGGER_UNSUPPORTED")(on.run().begin(0))
      }
    }
  }

  test("a row is written by its template, with values encoded for their place") {
    RestSinkFixture.using() { on =>
      on.run(
        "method" -> "PUT",
        "url" -> s"${on.api.url}/{id}",
        "rowTemplate" -> "{\"name\": ${word}, \"label\": \"<${word}> ${id}\", \"row\": ${_row}}",
        "bodyTemplate" -> "{\"data\": ${_rows}, \"key\": ${_key}, \"note\": \"k ${_key}\"}",
        "contentType" -> "application/vnd.api+json"
      ).epoch(0, Seq(InternalRow(5L, UTF8String.fromString("a\"b\nü€𝄞"))))
      val Seq(sent) = on.api.requests
      val text = "a\\\"b\\nü€𝄞"
      assert(sent.method == "PUT" && sent.path == "/orders/5" && sent.contentType == "application/vnd.api+json")
      assert(
        sent.body == s"""{"data": {"name": "$text", "label": "<$text> 5", "row": {"id":5,"word":"$text"}}, """ +
          s""""key": "${sent.key.get}", "note": "k ${sent.key.get}"}""")
    }
  }

  test("lines of JSON, and a wrapped array") {
    RestSinkFixture.using() { on =>
      on.run("batchSize" -> "2", "body" -> "ndjson", "rowTemplate" -> "{\"index\":{}}\n${_row}")
        .epoch(0, rows(on, 0 until 2))
      on.run("batchSize" -> "2", "bodyTemplate" -> "{\"records\": ${_rows}}").epoch(1, rows(on, 2 until 4))
      val Seq(lines, wrapped) = on.api.requests
      assert(lines.contentType == "application/x-ndjson")
      assert(
        lines.body == "{\"index\":{}}\n{\"id\":0,\"word\":\"row 0\"}\n{\"index\":{}}\n{\"id\":1,\"word\":\"row 1\"}\n")
      assert(wrapped.body == """{"records": [{"id":2,"word":"row 2"},{"id":3,"word":"row 3"}]}""")
    }
  }

  test("NULLs are written, or left out with ignoreNullFields; where a value is needed they make a bad row") {
    RestSinkFixture.using() { on =>
      val row = InternalRow(null, null)
      on.run().epoch(0, Seq(row))
      on.run("ignoreNullFields" -> "true").epoch(1, Seq(row))
      assert(on.api.requests.map(_.body) == Seq("""{"id":null,"word":null}""", "{}"))
      on.api.forget()
      Seq("keyColumns" -> "id", "url" -> s"${on.api.url}/{id}", "rowTemplate" -> "{\"a\":\"${id}\"}").zipWithIndex
        .foreach { case (option, i) =>
          val error = refused("ROW_REFUSED")(on.run(option).epoch(2L + i, Seq(on.row(1), row)))
          assert(error.getMessage.contains("Row 2") && error.getMessage.contains("'id'"), option)
        }
    }
  }
}
