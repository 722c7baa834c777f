package io.epochal.rest.source

import java.nio.file.Files

import com.github.tomakehurst.wiremock.client.ResponseDefinitionBuilder
import com.github.tomakehurst.wiremock.client.WireMock._
import com.github.tomakehurst.wiremock.stubbing.Scenario
import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.EpochalException
import io.epochal.kit.access.Secret
import io.epochal.rest.http.BearerToken
import io.epochal.testkit.{MicroBatch, Serialization}

/** Authentication: every scheme, with secrets from every place. */
final class RestAuthSuite extends AnyFunSuite with StubbedApi {

  private var clients = 0

  /** OAuth with a new client: tokens are shared by all queries of the JVM. */
  private def oauth(more: (String, String)*): Seq[(String, String)] = {
    clients += 1
    Seq(
      "oauth.tokenUrl" -> s"http://localhost:${server.port}/token",
      "oauth.clientId" -> s"client $clients",
      "oauth.clientSecret" -> secret) ++ more
  }

  private def tokens(all: ResponseDefinitionBuilder*): Unit = all.zipWithIndex.foreach { case (response, i) =>
    server.stubFor(
      post(urlPathEqualTo("/token"))
        .inScenario("tokens")
        .whenScenarioStateIs(if (i == 0) Scenario.STARTED else s"$i")
        .willReturn(response)
        .willSetStateTo(if (i + 1 < all.size) s"${i + 1}" else if (i == 0) Scenario.STARTED else s"$i"))
  }

  private def token(text: String): ResponseDefinitionBuilder =
    okJson(s"""{"access_token":"$text","token_type":"bearer","expires_in":3600}""")

  /** Makes the API accept only this value of Authorization; others get 401. */
  private def takesOnly(authorization: String): Unit = {
    server.stubFor(get(urlPathEqualTo("/c")).willReturn(aResponse().withStatus(401)))
    server.stubFor(get(urlPathEqualTo("/c")).withHeader("Authorization", equalTo(authorization)).willReturn(good))
    ()
  }

  private def tokenRequests: Int =
    server.countRequestsMatching(postRequestedFor(urlPathEqualTo("/token")).build()).getCount

  private def refused(more: (String, String)*): EpochalException = failure(read(more: _*))

  test("a bearer token by value, in a file and in the environment is sent with every request") {
    val file = Files.writeString(Files.createTempFile("epochal", "token"), s"$secret\n")
    val (name, value) = sys.env.find { case (n, v) => n.matches("[A-Z]+") && v.matches("[!-~]{6,}") }.get
    Seq(("", secret, secret), ("File", file.toString, secret), ("Env", name, value)).foreach {
      case (kind, place, sent) =>
        server.resetAll()
        takesOnly(s"Bearer $sent")
        assert(readAll(stream(s"bearerToken$kind" -> place)).size == 3, kind)
    }
  }

  test("a token in a file is read again, and tasks get it as read when their batch began") {
    val file = Files.writeString(Files.createTempFile("epochal", "token"), "first")
    val source = stream("bearerTokenFile" -> file.toString)
    val start = source.initialOffset()
    takesOnly("Bearer first")
    val end = MicroBatch.next(source, start, ReadLimit.allAvailable()).get
    Files.writeString(file, "second")
    takesOnly("Bearer second")
    assert(MicroBatch.read(source, schema, start, end).size == 3)
    val left = Serialization.copy(read("bearerTokenFile" -> file.toString).requests)
    Files.delete(file)
    assert(left.http.auth == Seq(BearerToken.Settings("bearerTokenFile", Secret.Given("second"))))
  }

  test("basic authentication has user and password, or a key alone as the user") {
    takesOnly("Basic bWU6aHVudGVyMg==")
    assert(readAll(stream("user" -> "me", "password" -> secret)).size == 3)
    takesOnly("Basic aHVudGVyMjo=")
    assert(readAll(stream("user" -> secret)).size == 3)
  }

  test("an API key is sent in a header or a parameter, besides any other authentication") {
    respond(good)
    readAll(stream("apiKey" -> secret))
    server.verify(getRequestedFor(urlEqualTo("/c")).withHeader("X-API-Key", equalTo(secret)))
    readAll(stream("apiKey" -> secret, "apiKeyHeader" -> "apikey", "bearerToken" -> "other"))
    server.verify(
      getRequestedFor(urlEqualTo("/c"))
        .withHeader("apikey", equalTo(secret))
        .withHeader("Authorization", equalTo("Bearer other")))
    val inQuery = stream("apiKey" -> "a&b", "apiKeyParam" -> "key", "params.lang" -> "en")
    readAll(inQuery)
    server.verify(getRequestedFor(urlEqualTo("/c?lang=en&key=a%26b")))
    assert(read("apiKey" -> "1", "apiKeyParam" -> "key").source == read("apiKey" -> "2", "apiKeyParam" -> "key").source)
  }

  test("client credentials get one token for driver and tasks") {
    tokens(token("t1"))
    takesOnly("Bearer t1")
    val source = stream(oauth("oauth.scope" -> "read all", "oauth.params.audience" -> "api"): _*)
    assert(readAll(source).size == 3 && tokenRequests == 1)
    server.verify(
      postRequestedFor(urlPathEqualTo("/token"))
        .withHeader("Authorization", equalTo(basic(s"client%20$clients", secret)))
        .withHeader("Content-Type", containing("application/x-www-form-urlencoded"))
        .withRequestBody(equalTo("grant_type=client_credentials&scope=read%20all&audience=api")))
  }

  private def basic(user: String, password: String): String =
    s"Basic ${java.util.Base64.getEncoder.encodeToString(s"$user:$password".getBytes)}"

  test("client id and secret are sent in the body with oauth.clientAuth=body") {
    tokens(token("t1"))
    takesOnly("Bearer t1")
    readAll(stream(oauth("oauth.clientAuth" -> "body"): _*))
    server.verify(
      postRequestedFor(urlPathEqualTo("/token"))
        .withoutHeader("Authorization")
        .withRequestBody(containing(s"client_id=client%20$clients&client_secret=$secret")))
  }

  test("a refresh token, if set, is the grant, with or without a client secret") {
    tokens(token("t1"))
    takesOnly("Bearer t1")
    val public = oauth("oauth.refreshToken" -> "r1").filterNot(_._1 == "oauth.clientSecret")
    assert(readAll(stream(public: _*)).size == 3)
    server.verify(
      postRequestedFor(urlPathEqualTo("/token")).withRequestBody(
        equalTo(s"grant_type=refresh_token&refresh_token=r1&client_id=client%20$clients")))
  }

  test("a token that the API rejects is renewed, and the request repeated") {
    tokens(token("t1"), token("t2"))
    takesOnly("Bearer t1")
    val source = stream(oauth(): _*)
    assert(readAll(source).size == 3)
    takesOnly("Bearer t2")
    assert(readAll(source).size == 3 && tokenRequests == 2)
    assert(metric(source, "retries") == 0)
  }

  test("an API that rejects every token fails with its 401, after one renewal") {
    tokens(token("t1"))
    takesOnly("Bearer none")
    val error = failure(readAll(stream(oauth(): _*)))
    assert(error.condition.name == "HTTP_STATUS" && error.values("status") == "401" && tokenRequests == 2)
  }

  test("a busy token server is retried") {
    tokens(aResponse().withStatus(503), aResponse().withStatus(429).withHeader("Retry-After", "0"), token("t1"))
    takesOnly("Bearer t1")
    assert(readAll(stream(oauth(): _*)).size == 3 && tokenRequests == 3)
  }

  test("a token server's Retry-After is obeyed in the same forms as the API's") {
    tokens(aResponse().withStatus(429).withHeader("Retry-After", "0.3"), token("t1"))
    takesOnly("Bearer t1")
    val begin = System.nanoTime()
    assert(readAll(stream(oauth(): _*)).size == 3 && System.nanoTime() - begin >= 300000000L)
  }

  test("the refusal of a token server is reported with its reason, without the secrets that it repeats") {
    val body = s"""{"error":"invalid_client","error_description":"the secret $secret has expired"}"""
    tokens(aResponse().withStatus(400).withBody(body))
    val error = failure(readAll(stream(oauth(): _*)))
    assert(error.condition.name == "OAUTH_REFUSED" && tokenRequests == 1)
    assert(
      error.getMessage.contains(
        s"http://localhost:${server.port}/token issued no access token: status 400, invalid_client"))
    assert(error.getMessage.contains("the secret *** has expired"))
    server.resetAll()
    tokens(okJson(s"""{"token":"$secret"}"""))
    assert(failure(readAll(stream(oauth(): _*))).getMessage.contains("its response has no access_token"))
  }

  test("a token server at a wrong address is given up on after a few attempts") {
    val error = failure(readAll(stream(oauth("oauth.tokenUrl" -> "http://127.0.0.1:9/token"): _*)))
    assert(error.condition.name == "HTTP_UNREACHABLE")
    assert(error.getMessage.contains("http://127.0.0.1:9/token could not be reached"))
    assert(error.getMessage.contains("(3 attempts)"))
  }

  test("secrets that a server repeats appear in no error") {
    Seq(
      Seq("headers.X-Key" -> secret),
      Seq("headers.Authorization" -> s"Bearer $secret"),
      Seq("params.q" -> secret),
      Seq("url" -> s"$url?q=$secret"),
      Seq("bearerToken" -> secret),
      Seq("user" -> secret, "password" -> secret),
      Seq("apiKey" -> secret)
    ).foreach { options =>
      server.resetAll()
      respond(aResponse().withStatus(403).withBody(s"no access with '$secret'"))
      assert(failure(readAll(stream(options: _*))).getMessage.contains("no access with '***'"), options.map(_._1))
    }
  }

  test("a 401 for a page whose address lacks the key names the way to send it, which works") {
    val (first, second) = ("""{"data":[{"id":0}],"next":"/c?page=2"}""", """{"data":[{"id":1}],"next":null}""")
    def stub(response: ResponseDefinitionBuilder, params: (String, String)*): Unit = {
      val request = params.foldLeft(get(urlPathEqualTo("/c"))) { case (one, (name, value)) =>
        one.withQueryParam(name, equalTo(value))
      }
      server.stubFor(request.willReturn(response))
      ()
    }
    stub(okJson(first), "key" -> secret)
    stub(aResponse().withStatus(401), "page" -> "2")
    stub(okJson(second), "page" -> "2", "key" -> secret)
    val paged = Seq("pagination" -> "next-url", "nextUrl" -> "/next", "records" -> "/data")
    Seq("params.key" -> secret, "url" -> s"$url?key=$secret").foreach { given =>
      val hint = failure(readAll(stream(paged :+ given: _*))).getMessage.split(" Hint: ")(1)
      assert(hint.contains("lacks the parameter 'key'") && hint.contains("apiKeyParam=key, with its value in apiKey"))
    }
    assert(readAll(stream(paged ++ Seq("apiKeyParam" -> "key", "apiKey" -> secret): _*)).map(_.head) == Seq(0, 1))
  }

  test("a request has one authorization, and a secret one place") {
    val all = Seq(
      "bearerToken" -> secret,
      "user" -> secret,
      "oauth.tokenUrl" -> "http://h/token",
      "headers.authorization" -> secret,
      "url" -> url.replace("//", s"//me:$secret@"))
    all.combinations(2).foreach { two =>
      val error = refused(two ++ two.find(_._1 == "oauth.tokenUrl").toSeq.flatMap(_ => oauth().tail): _*)
      assert(error.condition.name == "OPTION_CONFLICT", two.map(_._1))
    }
    Seq("bearerToken", "apiKey", "password", "oauth.clientSecret", "oauth.refreshToken").foreach { name =>
      val places = Seq(name -> secret, s"${name}File" -> "/f", s"${name}Env" -> "V")
      places.combinations(2).foreach(two => assert(refused(two: _*).condition.name == "OPTION_CONFLICT", name))
    }
  }

  test("options without the option that they depend on are refused") {
    Seq(
      "password" -> secret,
      "apiKeyParam" -> "key",
      "apiKeyHeader" -> "X-Key",
      "oauth.clientId" -> "me",
      "oauth.params.audience" -> "api").foreach(option =>
      assert(refused(option).condition.name == "OPTION_CONFLICT", option._1))
    assert(refused("oauth.tokenUrl" -> "http://h/t").condition.name == "OPTION_REQUIRED")
    assert(refused("oauth.tokenUrl" -> "http://h/t", "oauth.clientId" -> "me").condition.name == "OPTION_REQUIRED")
    assert(refused(oauth() :+ ("oauth.tokenUrl" -> "token"): _*).condition.name == "OPTION_INVALID")
    assert(refused("apiKey" -> secret, "apiKeyParam" -> "k", "params.k" -> "v").condition.name == "OPTION_CONFLICT")
    assert(refused("apiKey" -> secret, "apiKeyHeader" -> "x", "headers.X" -> "v").condition.name == "OPTION_CONFLICT")
  }

  test("a secret that cannot be read or sent is refused before the query starts") {
    val broken = Files.writeString(Files.createTempFile("epochal", "token"), s"$secret\nX-Injected: 1")
    assert(refused("bearerTokenFile" -> "/no/such/file").getMessage.contains("bearerTokenFile=/no/such/file"))
    assert(refused("user" -> "me", "passwordEnv" -> "EPOCHAL_NONE").condition.name == "SECRET_UNREADABLE")
    assert(refused(oauth("oauth.refreshTokenFile" -> "/none"): _*).condition.name == "SECRET_UNREADABLE")
    val several = refused("bearerTokenFile" -> broken.toString)
    assert(several.condition.name == "SECRET_UNREADABLE" && several.getMessage.contains("more than one line"))
    assert(refused("apiKey" -> "k\r\nX: 1").condition.name == "OPTION_INVALID")
  }

  test("toString of the options hides secrets") {
    Seq(
      Seq("bearerToken" -> secret),
      Seq("user" -> secret, "password" -> secret),
      Seq("apiKey" -> secret),
      oauth("oauth.refreshToken" -> secret, "oauth.params.x" -> secret)
    ).foreach(options => assert(!read(options: _*).toString.contains(secret)))
  }
}
