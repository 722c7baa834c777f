package io.epochal.rest.http

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util.HexFormat
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{ConcurrentLinkedQueue, Executors, TimeUnit}

import scala.collection.concurrent.TrieMap
import scala.jdk.CollectionConverters._

import com.sun.net.httpserver.HttpExchange
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.EpochalException
import io.epochal.kit.record.Body
import io.epochal.rest.source.RestOptions

/** Digest authentication, against a server that counts the uses of its nonces. */
final class DigestSuite extends AnyFunSuite {

  private val realm = """Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=%s, """ +
    """nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS""""

  test("answers are those of RFC 7616, and SHA-256 is preferred to MD5") {
    val (md5, sha) = (realm.format("MD5"), realm.format("SHA-256"))
    def response(headers: Seq[String]): String = {
      val said = DigestChallenge
        .of(headers)
        .get
        .answer("Mufasa", "Circle of Life", "GET", "/dir/index.html", 1, "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ")
      assert(said.contains("nc=00000001, cnonce=\"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ\""))
      said.split("response=\"").last.takeWhile(_ != '"')
    }
    assert(response(Seq(md5)) == "8ca523f5e9506fed4657c9700eebdbec")
    val strong = "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"
    assert(response(Seq(sha)) == strong && response(Seq(md5, "Basic realm=\"x\"", sha)) == strong)
    Seq("Basic realm=\"x\"", realm.format("SHA-512-256"), "Digest realm=\"x\"", "", "Digest").foreach { text =>
      assert(DigestChallenge.of(Seq(text)).isEmpty, text)
    }
  }

  /** Accepts each nonce for some requests, each number once. */
  final private class Protected(algorithm: String, uses: Int = Int.MaxValue) extends StubServer("/digest") {
    val statuses = new ConcurrentLinkedQueue[Int]
    private val nonces = TrieMap.empty[String, TrieMap[String, Unit]]
    private val number = new AtomicInteger

    private def hash(text: String): String = {
      val name = if (algorithm.startsWith("SHA-256")) "SHA-256" else "MD5"
      HexFormat.of.formatHex(MessageDigest.getInstance(name).digest(text.getBytes(UTF_8)))
    }

    override protected def serve(exchange: HttpExchange): Unit = {
      val fields = Option(exchange.getRequestHeaders.getFirst("Authorization")).toSeq
        .flatMap(text => "(\\w+)=(?:\"([^\"]*)\"|([^, ]+))".r.findAllMatchIn(text))
        .map(found => found.group(1) -> Option(found.group(2)).getOrElse(found.group(3)))
        .toMap
      val used = fields.get("nonce").flatMap(nonces.get)
      val isNew = used.exists(known => known.size < uses && known.putIfAbsent(fields("nc"), ()).isEmpty)
      val right = fields.get("response").exists { response =>
        val plain = hash("me:api:hunter2")
        val key = if (algorithm.endsWith("-sess")) hash(s"$plain:${fields("nonce")}:${fields("cnonce")}") else plain
        val request = hash(s"${exchange.getRequestMethod}:${exchange.getRequestURI}")
        response == hash(s"$key:${fields("nonce")}:${fields("nc")}:${fields("cnonce")}:auth:$request")
      }
      val status = if (isNew && right) 200 else 401
      statuses.add(status)
      if (status == 401) {
        val nonce = s"n${number.incrementAndGet()}"
        nonces(nonce) = TrieMap.empty
        exchange.getResponseHeaders.add(
          "WWW-Authenticate",
          s"""Digest realm="api", qop="auth", algorithm=$algorithm, nonce="$nonce", stale=${right && !isNew}""")
      }
      exchange.getRequestBody.readAllBytes(): Unit
      exchange.sendResponseHeaders(status, if (status == 200) 2 else -1)
      if (status == 200) exchange.getResponseBody.write("[]".getBytes)
    }
  }

  private def using(api: Protected, password: String = "hunter2")(body: HttpClient => Unit): Unit =
    try {
      val set = Map("url" -> api.url, "digest.user" -> "me", "digest.password" -> password)
      val client = new HttpClient(RestOptions.read(set).fold(throw _, _.requests.http), new HttpCounters)
      try body(client)
      finally client.close()
    } finally api.close()

  private def get(client: HttpClient, method: String = "GET"): Unit = {
    val body = Option.when(method != "GET")(new HttpBody("application/json", "{}".getBytes))
    client.call(HttpCall(method, "/digest?q=a%20b", body = body), new Body)(_ => ())
  }

  Seq("SHA-256", "MD5", "SHA-256-sess", "MD5-sess").foreach { algorithm =>
    test(s"$algorithm: one request is refused, and its nonce serves all later ones, with and without a body") {
      val api = new Protected(algorithm)
      using(api) { client =>
        (1 to 5).foreach(n => get(client, if (n % 2 == 0) "POST" else "GET"))
        assert(api.statuses.asScala.toSeq == 401 +: Seq.fill(5)(200))
      }
    }
  }

  test("an old nonce (stale=true) is replaced, and the request repeated") {
    val api = new Protected("SHA-256", uses = 2)
    using(api) { client =>
      (1 to 5).foreach(_ => get(client))
      assert(api.statuses.asScala.toSeq == Seq(401, 200, 200, 401, 200, 200, 401, 200))
    }
  }

  test("concurrent requests, also of other tasks, share a nonce and never a number") {
    val api = new Protected("SHA-256")
    using(api) { client =>
      get(client)
      val threads = Executors.newFixedThreadPool(8)
      (1 to 100).foreach(_ => threads.submit((() => get(client)): Runnable))
      threads.shutdown()
      assert(threads.awaitTermination(60, TimeUnit.SECONDS))
      assert(api.statuses.asScala.toSeq == 401 +: Seq.fill(101)(200))
    }
  }

  test("a wrong password fails after its answer, without the password") {
    val api = new Protected("SHA-256")
    using(api, password = "swordfish") { client =>
      val error = intercept[EpochalException](get(client))
      assert(error.condition.name == "HTTP_STATUS" && api.statuses.asScala.toSeq == Seq(401, 401))
      assert(error.getMessage.contains("check digest.user") && !error.getMessage.contains("swordfish"))
    }
  }
}
