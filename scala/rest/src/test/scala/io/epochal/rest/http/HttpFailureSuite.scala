package io.epochal.rest.http

import java.io.IOException
import java.net.SocketTimeoutException
import java.time.Duration

import org.apache.hc.client5.http.ConnectTimeoutException
import org.apache.hc.core5.http.ConnectionRequestTimeoutException
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.prop.TableDrivenPropertyChecks._

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.retry.Verdict

final class HttpFailureSuite extends AnyFunSuite {

  private val endpoint = Endpoint.of("http://api.example/x", Nil, Nil).fold(fail(_), identity)

  private def failure(status: Int, set: String*): EpochalException = {
    val credentials = CredentialAdvice(set, Seq("bearerToken", "apiKey"))
    HttpFailure.status(endpoint, status, Verdict.GiveUp, throttled = false, "no", credentials).report(3)
  }

  private def hint(error: EpochalException): String = error.getMessage.split(" Hint: ")(1)

  test("the hint of a status is an instruction") {
    forAll(
      Table(
        "status" -> "hint",
        301 -> "Set url to the address",
        401 -> "none are set: set bearerToken, apiKey.",
        403 -> "no credentials are set: set bearerToken, apiKey.",
        404 -> "ignoreStatuses=404",
        407 -> "check proxy, proxyUser and proxyPassword",
        418 -> "The request is wrong",
        429 -> "set requestsPerSecond or maxConcurrency",
        503 -> "The server failed"
      )) { (status, hint) =>
      assert(this.hint(failure(status)).contains(hint))
    }
  }

  test("the error of rejected credentials names their options") {
    assert(
      hint(failure(401, "apiKeyFile", "headers.authorization")).endsWith("check apiKeyFile, headers.authorization."))
    assert(hint(failure(403, "user")) == "These credentials have no permission for this request: check user.")
  }

  test("timeouts of all kinds are retried") {
    Seq[IOException](
      new SocketTimeoutException("Read timed out"),
      new ConnectTimeoutException("Connect timed out"),
      new ConnectionRequestTimeoutException("Timeout deadline: 1000 MILLISECONDS")
    ).foreach { timeout =>
      val failure = HttpFailure.of(endpoint, Duration.ofSeconds(1), timeout)
      assert(failure.verdict == Verdict.Retry && failure.report(1).condition == Conditions.HttpTimeout)
    }
  }

  test("one attempt is counted in the singular") {
    val error = HttpFailure.body(endpoint, "it is empty", cut = false).report(1)
    assert(error.problem.endsWith("responded with a body that cannot be read (1 attempt): it is empty."))
  }

  test("a retry is logged without the hint") {
    assert(failure(503).problem.endsWith("responded with status 503 (3 attempts): no"))
  }
}
