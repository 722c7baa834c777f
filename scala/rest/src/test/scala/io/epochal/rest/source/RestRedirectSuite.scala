package io.epochal.rest.source

import com.github.tomakehurst.wiremock.client.ResponseDefinitionBuilder
import com.github.tomakehurst.wiremock.client.WireMock._
import org.scalatest.funsuite.AnyFunSuite

/** Redirects. */
final class RestRedirectSuite extends AnyFunSuite with StubbedApi {

  private def to(status: Int, location: String): ResponseDefinitionBuilder =
    aResponse().withStatus(status).withHeader("Location", location).withBody("moved")

  Seq(301, 302, 303, 307, 308).foreach { status =>
    test(s"a GET is repeated where a $status on the same server leads, with headers, and the API key once") {
      server.stubFor(get(urlPathEqualTo("/c")).willReturn(to(status, s"/d/?page=2&key=$secret#part")))
      server.stubFor(get(urlPathEqualTo("/d/")).willReturn(to(status, "?page=3")))
      server.stubFor(
        get(urlEqualTo(s"/d/?page=3&key=$secret")).withHeader("X-A", equalTo("b")).willReturn(okJson(page)))
      val options = Seq("headers.X-A" -> "b", "apiKey" -> secret, "apiKeyParam" -> "key")
      assert(readAll(stream(options: _*)).size == 3)
      server.verify(getRequestedFor(urlEqualTo(s"/d/?page=2&key=$secret")))
    }
  }

  Seq(307, 308).foreach { status =>
    test(s"a POST is repeated with its body after a $status") {
      server.stubFor(post(urlPathEqualTo("/c")).willReturn(to(status, s"http://LOCALHOST:${server.port}/d")))
      server.stubFor(post(urlPathEqualTo("/d")).withRequestBody(equalTo("{}")).willReturn(okJson(page)))
      assert(readAll(stream("requestBody" -> "{}")).size == 3)
    }
  }

  Seq(301, 302, 303).foreach { status =>
    test(s"a POST answered $status is refused, and not sent again") {
      server.stubFor(post(anyUrl()).willReturn(to(status, "/d")))
      val error = failure(readAll(stream("requestBody" -> "{}")))
      assert(
        error.condition.name == "HTTP_STATUS" && error.getMessage.contains("a POST is not repeated after a redirect"))
      assert(requests == 1)
    }
  }

  test("another scheme, host or port is refused, and its query is not shown") {
    Seq(
      s"https://localhost:${server.port}/d?token=$secret",
      s"http://127.0.0.1:${server.port}/d",
      "http://localhost/d",
      "//elsewhere/d",
      "mailto:a@b",
      "http://").foreach { location =>
      server.resetAll()
      respond(to(301, location))
      val error = failure(readAll(stream()))
      assert(error.getMessage.contains("redirects to another scheme, host or port are not followed"), location)
      assert(requests == 1)
    }
  }

  test("five redirects in a row are followed, and no sixth") {
    (0 until 5).foreach { i =>
      server.stubFor(get(urlEqualTo(s"/$i")).willReturn(to(302, s"/${i + 1}")))
    }
    server.stubFor(get(urlEqualTo("/5")).willReturn(okJson(page)))
    def at(i: Int) = readAll(stream("url" -> s"http://localhost:${server.port}/$i"))
    assert(at(0).size == 3)
    server.stubFor(get(urlEqualTo("/5")).willReturn(to(302, "/0")))
    val before = requests
    val error = failure(at(0))
    assert(error.getMessage.contains("it followed 5 redirects, and this is one more") && requests == before + 6)
  }

  test("a redirect status that counts as an empty response is not followed") {
    respond(to(302, "/d"))
    assert(readAll(stream("ignoreStatuses" -> "302")).isEmpty && requests == 1)
  }
}
