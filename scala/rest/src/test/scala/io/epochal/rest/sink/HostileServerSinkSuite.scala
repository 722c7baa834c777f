package io.epochal.rest.sink

import scala.util.Using

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import io.epochal.core.error.EpochalException
import io.epochal.rest.http.{HostileResponses, RawServer}
import io.epochal.support.SlowTests

/** The sink against servers that try to exhaust its memory, time or tasks. */
final class HostileServerSinkSuite extends AnyFunSuite with SlowTests {

  // `HostileServerSuite` has it for the same client.
  override protected def isSlow(test: String): Boolean = test.contains("slower than it may be")

  HostileResponses.all.foreach { hostile =>
    test(s"${hostile.name}: the epoch fails with ${hostile.condition} soon") {
      RestSinkFixture.using() { on =>
        hostile.against(options => intercept[EpochalException](on.run(options: _*).epoch(0, Seq(on.row(1)))))
      }
    }
  }

  test("results that would become millions of tree nodes are refused by name", Slow) {
    RestSinkFixture.using() { on =>
      on.api.answer = _ => Answer(200, s"[${"{}," * 1500000}{}]")
      val error = intercept[EpochalException](on.run("results" -> "", "resultStatus" -> "/s").epoch(0, Seq(on.row(1))))
      assert(error.condition.name == "HTTP_BODY_INVALID" && error.getMessage.contains("Token count"), error.getMessage)
    }
  }

  test("a server that stops reading a request fails at the deadline") {
    val large = InternalRow(1L, UTF8String.fromString("a" * (32 << 20)))
    Using.resource(new RawServer()((_, _) => while (true) Thread.sleep(1000))) { server =>
      RestSinkFixture.using() { on =>
        val options =
          Seq("url" -> server.url, "requestDeadline" -> "500ms", "retry.maxAttempts" -> "1")
        val error = intercept[EpochalException](on.run(options: _*).epoch(0, Seq(large)))
        assert(error.condition.name == "HTTP_TOO_SLOW", error.getMessage)
      }
    }
  }
}
