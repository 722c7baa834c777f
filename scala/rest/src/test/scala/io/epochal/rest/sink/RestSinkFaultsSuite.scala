package io.epochal.rest.sink

import java.nio.file.{Files, Path}
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.sql.catalyst.InternalRow
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import io.epochal.core.error.EpochalException
import io.epochal.rest.http.RawServer

/** The sink against servers that fail, reject, or accept only some of the rows. */
final class RestSinkFaultsSuite extends AnyFunSuite {

  private def refused(condition: String)(body: => Any): EpochalException = {
    val error = intercept[EpochalException](body)
    assert(error.condition.name == condition, error.getMessage)
    error
  }

  private def rows(on: RestSinkFixture, range: Range): Seq[InternalRow] = range.map(n => on.row(n.toLong))

  /** The n-th request gets the n-th status; later ones are applied. */
  private def first(on: RestSinkFixture, statuses: Int*): Unit = {
    val n = new AtomicInteger
    on.api.intercept = _ => statuses.lift(n.getAndIncrement()).map(Answer(_, "injected"))
  }

  /** Gives each row a status by its id. */
  private def each(on: RestSinkFixture)(status: Long => String): Unit =
    on.api.answer = request =>
      Answer(
        200,
        on.api.rows(request).map(row => status(row.get("id").longValue)).mkString("""{"items":[""", ",", "]}"))

  private def letters(directory: Path): Seq[String] =
    Using
      .resource(Files.list(directory))(_.iterator.asScala.toSeq)
      .filter(_.getFileName.toString.endsWith(".jsonl"))
      .sortBy(_.getFileName.toString)
      .flatMap(Files.readAllLines(_).asScala)

  private def withDirectory(body: Path => Any): Unit = {
    val directory = Files.createTempDirectory("dead-letters")
    try { body(directory); () }
    finally org.apache.commons.io.FileUtils.deleteDirectory(directory.toFile)
  }

  test("a request that fails temporarily is retried under its key, and the metrics count it") {
    RestSinkFixture.using() { on =>
      first(on, 503, 429, 500)
      val run = on.run("batchSize" -> "10")
      run.epoch(0, rows(on, 0 until 5))
      assert(on.api.applied == (0L until 5L) && on.api.keys.distinct.size == 1 && on.api.requests.size == 4)
      assert(run.metrics("retries") == "3" && run.metrics("throttled") == "1" && run.metrics("requests") == "4")
    }
  }

  test("a Retry-After is obeyed in the same forms as by the source, also with 409") {
    Seq(429 -> "0.3", 409 -> "0.3").foreach { case (status, wait) =>
      RestSinkFixture.using() { on =>
        val answered = new java.util.concurrent.atomic.AtomicBoolean
        on.api.intercept =
          _ => Option.when(answered.compareAndSet(false, true))(Answer(status, headers = Seq("Retry-After" -> wait)))
        val begin = System.nanoTime()
        on.run("keyColumns" -> "id").epoch(1, rows(on, 0 until 1))
        assert(System.nanoTime() - begin >= 300000000L && on.api.applied == Seq(0L), status)
      }
    }
  }

  test("409 to a request with a key means that its first attempt is still in progress: it is retried") {
    RestSinkFixture.using() { on =>
      first(on, 409, 409)
      on.run().epoch(0, rows(on, 0 until 1))
      assert(on.api.applied == Seq(0L) && on.api.keys.size == 3 && on.api.keys.distinct.size == 1)
      first(on, 409)
      refused("HTTP_STATUS")(on.run("idempotencyHeader" -> "none").epoch(1, rows(on, 1 until 2)))
    }
  }

  test(
    "409 to a request with a key is retried even if it is in rejectStatuses, and rejects its rows after the last attempt") {
    withDirectory { directory =>
      RestSinkFixture.using() { on =>
        val options = Seq("deadLetterPath" -> directory.toString, "rejectStatuses" -> "409", "batchSize" -> "2")
        first(on, 409, 409)
        on.run(options: _*).epoch(0, rows(on, 0 until 2))
        assert(on.api.applied == Seq(0L, 1L) && letters(directory).isEmpty)
        first(on, 409, 409, 409, 409)
        on.run(options: _*).epoch(1, rows(on, 2 until 6))
        assert(on.api.applied == Seq(0L, 1L, 4L, 5L))
        assert(letters(directory).map(_.contains("409: ")) == Seq(true, true))
      }
    }
  }

  test("401 fails at once, and shows no secret") {
    RestSinkFixture.using() { on =>
      first(on, 401)
      val secrets = Seq("headers.Authorization" -> "Bearer hunter2", "params.api_key" -> "hunter2")
      val error = refused("HTTP_STATUS")(on.run(secrets: _*).epoch(0, rows(on, 0 until 2)))
      assert(on.api.requests.size == 1 && !error.getMessage.contains("hunter2"))
    }
  }

  test("requestsPerSecond holds from one task to the next; ignoreStatuses count as success") {
    RestSinkFixture.using() { on =>
      val begin = System.nanoTime()
      on.run("requestsPerSecond" -> "50").epoch(0, rows(on, 0 until 6), rows(on, 6 until 12))
      assert(on.api.applied == (0L until 12L))
      assert(System.nanoTime() - begin >= 220L * 1000000)
      on.api.intercept = _ => Some(Answer(409))
      on.run("ignoreStatuses" -> "409").epoch(1, rows(on, 0 until 3))
    }
  }

  test("a server that is unreachable at the start is given up on after as many attempts as are set") {
    RestSinkFixture.using() { on =>
      val url = on.api.url
      on.api.close()
      val error =
        refused("HTTP_UNREACHABLE")(on.run("url" -> url, "retry.maxAttempts" -> "5").epoch(0, rows(on, 0 until 1)))
      assert(error.getMessage.contains("5 attempts"))
    }
  }

  test("with a response per row, rows that may succeed are resent alone, under a key that a replay repeats") {
    RestSinkFixture.using() { on =>
      val busy = new AtomicInteger
      def status(id: Long): String =
        if (id % 2 == 1 && busy.get < 1) """{"status":503}""" else """{"status":201}"""
      on.api.answer = request => {
        val items = on.api.rows(request).map(row => status(row.get("id").longValue)).mkString(",")
        busy.incrementAndGet()
        Answer(207, s"""{"items":[$items]}""")
      }
      val options = Seq("batchSize" -> "6", "results" -> "/items")
      on.run(options: _*).epoch(0, rows(on, 0 until 6))
      val sent = on.api.requests
      assert(sent.map(on.api.rows(_).map(_.get("id").intValue)) == Seq(Seq(0, 1, 2, 3, 4, 5), Seq(1, 3, 5)))
      assert(sent.flatMap(_.key).distinct.size == 2)
      on.api.forget()
      on.run(options: _*).epoch(0, rows(on, 0 until 6))
      assert(on.api.requests == sent)
    }
  }

  test("a row that is still retryable when the attempts end fails its epoch with its number") {
    RestSinkFixture.using() { on =>
      each(on)(id => if (id == 2) """{"status":503,"error":"full"}""" else """{"status":200}""")
      val error =
        refused("ROW_REFUSED")(on.run("batchSize" -> "4", "results" -> "/items").epoch(0, rows(on, 0 until 4)))
      assert(error.values("row") == "3" && error.getMessage.contains("503") && error.getMessage.contains("4 attempts"))
    }
  }

  test("a rejected row fails its epoch, naming row, partition and reason") {
    RestSinkFixture.using() { on =>
      each(on)(id => if (id == 12) """{"status":422,"error":{"reason":"no such thing"}}""" else """{"status":200}""")
      val error = refused("ROW_REFUSED")(
        on.run("batchSize" -> "3", "results" -> "/items", "resultReason" -> "/error/reason")
          .epoch(0, rows(on, 0 until 5), rows(on, 10 until 15)))
      assert(error.values("row") == "3" && error.values("partition") == "1")
      assert(error.values("reason") == "422: no such thing")
    }
  }

  test("true and false, and words, can be the status of a row") {
    RestSinkFixture.using() { on =>
      each(on)(id => if (id == 1) """{"ok":false}""" else """{"ok":true}""")
      val pointer = Seq("batchSize" -> "3", "results" -> "/items", "resultStatus" -> "/ok")
      assert(refused("ROW_REFUSED")(on.run(pointer: _*).epoch(0, rows(on, 0 until 3))).values("row") == "2")
      each(on)(id => if (id == 1) """{"ok":"merged"}""" else """{"ok":"created"}""")
      assert(
        refused("ROW_RESULTS_INVALID")(on.run(pointer: _*).epoch(1, rows(on, 0 until 3))).getMessage
          .contains("created"))
      on.run(pointer :+ ("resultSuccess" -> "created,merged"): _*).epoch(2, rows(on, 0 until 3))
      val one = on.run(pointer :+ ("resultSuccess" -> "created"): _*)
      assert(refused("ROW_REFUSED")(one.epoch(3, rows(on, 0 until 3))).values("row") == "2")
    }
  }

  test("results that do not cover every row are an error, never success") {
    RestSinkFixture.using() { on =>
      val options = Seq("batchSize" -> "3", "results" -> "/items")
      Seq("""{"items":[]}""", """{"itmes":[]}""", """{"items":{}}""", """{"items":[{},{},{}]}""", "[]").zipWithIndex
        .foreach { case (body, epoch) =>
          on.api.answer = _ => Answer(200, body)
          refused("ROW_RESULTS_INVALID")(on.run(options: _*).epoch(epoch.toLong, rows(on, 0 until 3)))
        }
      on.api.answer = _ => Answer(204)
      on.run(options: _*).epoch(9, rows(on, 0 until 3))
    }
  }

  test("rejected rows go to deadLetterPath once, however often their epoch is replayed") {
    withDirectory { directory =>
      RestSinkFixture.using() { on =>
        each(on)(id => if (id % 4 == 1) """{"status":400,"error":"odd"}""" else """{"status":200}""")
        val options =
          Seq("batchSize" -> "3", "results" -> "/items", "deadLetterPath" -> directory.toString, "sinkId" -> "orders")
        (1 to 3).foreach(_ => on.run(options: _*).epoch(5, rows(on, 0 until 4), rows(on, 4 until 8)))
        val run = on.run(options: _*)
        run.epoch(6, rows(on, 8 until 11))
        assert(run.metrics("badRows") == "1")
        val lines = letters(directory)
        assert(lines.size == 3 && on.api.applied.distinct.size == 11)
        assert(
          lines.head.startsWith("""{"sink":"orders","epoch":"5","partition":0,"row":2,"key":"""") &&
            lines.head.endsWith(""""value":{"id":1,"word":"row 1"}}"""),
          lines.head)
        assert(lines.head.contains("400: ") && lines.head.contains("odd"))
      }
    }
  }

  test("a rejected request puts all of its rows aside, whole, independently of the row template; bad rows too", Slow) {
    withDirectory { directory =>
      RestSinkFixture.using() { on =>
        first(on, 422)
        val options = Seq("deadLetterPath" -> directory.toString, "keyColumns" -> "id")
        on.run(options ++ Seq("batchSize" -> "2", "rowTemplate" -> "{\"id\": ${id}}"): _*)
          .epoch(0, rows(on, 0 until 3) :+ InternalRow(null, null))
        assert(on.api.applied == Seq(2L))
        val lines = letters(directory)
        assert(lines.size == 3 && lines.count(_.contains(""""word":"row """)) == 2)
        assert(lines.count(_.contains("the key column 'id' is NULL")) == 1 && lines.last.contains(""""key":null"""))
        // Once the server accepts them, they are no longer dead letters.
        on.run(options ++ Seq("batchSize" -> "2", "rowTemplate" -> "{\"id\": ${id}}"): _*).epoch(0, rows(on, 0 until 3))
        assert(letters(directory).isEmpty)
      }
    }
  }

  test("a status that does not blame the rows fails the query, even with deadLetterPath") {
    withDirectory { directory =>
      RestSinkFixture.using() { on =>
        on.api.intercept = _ => Some(Answer(403))
        refused("HTTP_STATUS")(on.run("deadLetterPath" -> directory.toString).epoch(0, rows(on, 0 until 3)))
        on.api.intercept = _ => Some(Answer(404))
        on.run("deadLetterPath" -> directory.toString, "rejectStatuses" -> "404").epoch(0, rows(on, 0 until 3))
        assert(letters(directory).size == 3)
      }
    }
  }

  test("more dead letters than maxBadRows fail the epoch, in one task or in all together, and leave no file") {
    withDirectory { directory =>
      RestSinkFixture.using() { on =>
        on.api.intercept = _ => Some(Answer(422))
        val run = on.run("deadLetterPath" -> directory.toString, "maxBadRows" -> "3")
        refused("TOO_MANY_REFUSED_ROWS")(run.epoch(0, rows(on, 0 until 4)))
        refused("TOO_MANY_REFUSED_ROWS")(run.epoch(1, rows(on, 0 until 2), rows(on, 2 until 4)))
        assert(letters(directory).isEmpty)
      }
    }
  }

  test("a deadLetterPath that is deleted while the query runs is created again") {
    withDirectory { directory =>
      RestSinkFixture.using() { on =>
        first(on, 422)
        val place = directory.resolve("letters")
        val run = on.run("deadLetterPath" -> place.toString, "batchSize" -> "2")
        run.epoch(0, rows(on, 0 until 2))
        assert(letters(place).size == 2)
        Files.list(place).forEach(Files.delete(_))
        Files.delete(place)
        first(on, 422)
        run.epoch(1, rows(on, 2 until 4))
        assert(letters(place).size == 2)
      }
    }
  }

  test("an unwritable deadLetterPath is refused before the query starts") {
    withDirectory { directory =>
      RestSinkFixture.using() { on =>
        val file = Files.createFile(directory.resolve("file"))
        refused("DEAD_LETTERS_UNWRITABLE")(on.run("deadLetterPath" -> file.toString))
      }
    }
  }

  test("a request over a connection that the server had closed is repeated at once only under a key, or by PUT") {
    def requests(options: (String, String)*): Unit = RestSinkFixture.using() { on =>
      Using.resource(new RawServer()((in, out) => {
        while (in.read() != '}') {}
        out.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".getBytes)
      }))(server =>
        on.run(Seq("url" -> server.url, "retry.maxAttempts" -> "1") ++ options: _*).epoch(0, rows(on, 0 to 1)))
    }
    requests()
    requests("idempotencyHeader" -> "none", "method" -> "PUT")
    val _ = refused("HTTP_UNREACHABLE")(requests("idempotencyHeader" -> "none"))
  }
}
