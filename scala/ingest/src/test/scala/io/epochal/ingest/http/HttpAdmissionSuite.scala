package io.epochal.ingest.http

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files
import java.time.{Clock, Instant, ZoneOffset}
import java.util.{Base64, HexFormat}
import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec

import scala.collection.mutable
import scala.util.Using

import org.apache.logging.log4j.Level
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.Conditions
import io.epochal.ingest.http.auth.CurrentSecrets
import io.epochal.kit.access.Secret
import io.epochal.support.LoggedLines

/** Authentication of records, health and metrics. */
final class HttpAdmissionSuite extends AnyFunSuite {
  import ListenerFixture._

  private val text = "Content-Type" -> "text/plain"
  private val json = "Content-Type" -> "application/json"
  private val clock = Clock.fixed(Instant.ofEpochSecond(1531420618L), ZoneOffset.UTC)

  private def hmac(algorithm: String, secret: String, signed: String): Array[Byte] = {
    val mac = Mac.getInstance(algorithm)
    mac.init(new SecretKeySpec(secret.getBytes(UTF_8), algorithm))
    mac.doFinal(signed.getBytes(UTF_8))
  }

  private def hex(secret: String, signed: String): String = HexFormat.of.formatHex(hmac("HmacSHA256", secret, signed))

  private def signed(kind: String, options: (String, String)*)(body: ListenerFixture => Unit): Unit =
    Using
      .resource(new ListenerFixture(Map("signature" -> kind, "signatureSecret" -> "hunter2") ++ options, clock))(body)

  test("a bearer token is required, the previous one is valid while configured, and no body is read without one") {
    listening("bearerToken" -> "new", "previousBearerToken" -> "old") { fixture =>
      Seq("Bearer new", "bearer new", "Bearer old").foreach(value =>
        assert(fixture.post("a", "Authorization" -> value).status == 200, value))
      Seq("Bearer", "Bearer ne", "Bearer newer", "Basic new", "new", "").foreach { value =>
        val refused = fixture.post("a", "Authorization" -> value)
        assert(refused.status == 401 && refused.headers("www-authenticate") == "Bearer", value)
        assert(refused.body == """{"error":"unauthorized"}""")
      }
      assert(fixture.post("a", "Authorization" -> "Bearer new", "Authorization" -> "Bearer new").status == 401)
      Using.resource(fixture.client()) { client =>
        client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\nContent-Length: 1000000\r\n\r\n")
        assert(client.response().status == 401)
      }
      assert(fixture.intake.records.size == 3)
    }
  }

  test("a user and password are required, in UTF-8") {
    listening("user" -> "jörg", "password" -> "pass:wörd", "previousPassword" -> "before") { fixture =>
      def basic(text: String) = "Authorization" -> s"Basic ${Base64.getEncoder.encodeToString(text.getBytes(UTF_8))}"
      Seq("jörg:pass:wörd", "jörg:before").foreach(login => assert(fixture.post("a", basic(login)).status == 200))
      Seq("jörg:", "jorg:before", ":", "").foreach(login =>
        assert(fixture.post("a", basic(login)).status == 401, login))
    }
  }

  test("a changed secret file takes effect, and without the file every request is refused") {
    val file = Files.createTempFile("token", "")
    Files.writeString(file, "first\n"): Unit
    var now = 0L
    val secrets = new CurrentSecrets(Seq(Secret.InFile("bearerTokenFile", file.toString)), _.getBytes(UTF_8), () => now)
    def current = secrets.read().map(new String(_, UTF_8))
    assert(current == Seq("first"))
    Files.writeString(file, "second"): Unit
    assert(current == Seq("first"))
    now += 6000000000L
    assert(current == Seq("second"))
    Files.delete(file)
    now += 6000000000L
    assert(current.isEmpty)
  }

  test("an unreadable previous secret is dropped with one warning; the current one stays valid") {
    val files = Seq("new", "old").map(text => Files.writeString(Files.createTempFile("token", ""), text))
    var now = 0L
    val options = files.map(file => Secret.InFile("bearerTokenFile", file.toString))
    val secrets = new CurrentSecrets(options, _.getBytes(UTF_8), () => now)
    def current = {
      now += 6000000000L
      secrets.read().map(new String(_, UTF_8))
    }
    assert(current == Seq("new", "old"))
    Files.delete(files.last)
    val warnings = LoggedLines.of(Level.WARN)((1 to 3).foreach(_ => assert(current == Seq("new"))))
    assert(warnings.count(_.contains("bearerTokenFile")) == 1)
    Files.writeString(files.last, "old")
    assert(current == Seq("new", "old"))
    Files.delete(files.head)
    assert(current.isEmpty)
    Files.delete(files.last)
  }

  test("GitHub's example of a signature is valid, one of another body or secret is not") {
    // From "Validating webhook deliveries".
    val options = Map("signature" -> "github", "signatureSecret" -> "It's a Secret to Everybody")
    val right = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    Using.resource(new ListenerFixture(options, clock)) { fixture =>
      def send(body: String, headers: (String, String)*) = fixture.ask("POST", "/", body, text +: headers: _*)
      assert(send("Hello, World!", "X-Hub-Signature-256" -> right).status == 200)
      val refused = send("Hello, World?", "X-Hub-Signature-256" -> right)
      assert(refused.status == 403 && refused.body == """{"error":"forbidden"}""")
      Seq(right.drop(7), "sha256=", "sha256=zz", right.dropRight(2)).foreach(value =>
        assert(send("Hello, World!", "X-Hub-Signature-256" -> value).status == 403, value))
      assert(send("Hello, World!").status == 403)
      assert(fixture.intake.records == Seq("Hello, World!"))
    }
  }

  test("a redelivery by GitHub is a duplicate") {
    signed("github") { fixture =>
      def send(body: String, id: String) = fixture.ask(
        "POST",
        "/",
        body,
        json,
        "X-Hub-Signature-256" -> s"sha256=${hex("hunter2", body)}",
        "X-GitHub-Delivery" -> id)
      assert(send("{\"a\":1}", "72d3162e").body == """{"records":1}""")
      assert(send("{\"a\":1}", "72d3162e").body.contains("duplicate"))
      assert(send("{\"a\":1}", "another").body == """{"records":1}""")
    }
  }

  test("one of several Stripe signatures is valid within the tolerance, and the event's id is the key") {
    signed("stripe", "previousSignatureSecret" -> "before") { fixture =>
      val event = "{\"object\":{\"id\":\"no\"},\"id\":\"evt_1\",\"n\":1}"
      def send(time: Long, secret: String, more: String = "") = fixture.ask(
        "POST",
        "/",
        event,
        json,
        "Stripe-Signature" -> s"t=$time,${more}v1=${hex(secret, s"$time.$event")},v0=6ffbb59b")
      val now = clock.instant.getEpochSecond
      assert(send(now, "hunter2").body == """{"records":1}""")
      assert(send(now - 299, "hunter2", more = s"v1=${"ab" * 32},").body == """{"records":1,"duplicate":true}""")
      assert(send(now + 299, "before").body.contains("duplicate"))
      Seq(now - 301, now + 301).foreach(time => assert(send(time, "hunter2").status == 403))
      assert(send(now, "hunter3").status == 403)
      assert(fixture.intake.arrivals.flatMap(_.key) == Seq("/evt_1"))
    }
  }

  test("Slack's example of a signature is valid at its time, and not later") {
    // From "Verifying requests from Slack".
    val secret = "8f742231b10e8888abcd99yyyzzz85a5"
    val body =
      "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=" +
        "foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com" +
        "%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
    val headers = Seq(
      "Content-Type" -> "application/x-www-form-urlencoded",
      "X-Slack-Request-Timestamp" -> "1531420618",
      "X-Slack-Signature" -> "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503")
    val options = Map("signature" -> "slack", "signatureSecret" -> secret)
    Using.resource(new ListenerFixture(options, clock)) { fixture =>
      assert(fixture.ask("POST", "/", body, headers: _*).status == 200)
      assert(
        fixture
          .ask("POST", "/", body, headers.updated(1, "X-Slack-Request-Timestamp" -> "1531420617"): _*)
          .status == 403)
      assert(fixture.intake.records.head.contains("\"command\":\"/webhook-collect\""))
    }
    Using.resource(new ListenerFixture(options, Clock.offset(clock, java.time.Duration.ofSeconds(301)))) { fixture =>
      assert(fixture.ask("POST", "/", body, headers: _*).status == 403 && fixture.intake.arrivals.isEmpty)
    }
  }

  test("signature=header reads prefix, algorithm and encoding from the options") {
    signed(
      "header",
      "signatureHeader" -> "X-Shop-Hmac",
      "signaturePrefix" -> "v=",
      "signatureAlgorithm" -> "HmacSHA512",
      "signatureEncoding" -> "base64") { fixture =>
      val right = Base64.getEncoder.encodeToString(hmac("HmacSHA512", "hunter2", "body"))
      assert(fixture.post("body", "X-Shop-Hmac" -> s"v=$right").status == 200)
      assert(fixture.post("body", "X-Shop-Hmac" -> right).status == 403)
      assert(fixture.post("body", "X-Shop-Hmac" -> "v=%%").status == 403)
    }
  }

  test("the log has the number of refusals by reason, and no value of a header") {
    def reasons(lines: Seq[String]) = {
      val found = lines.filter(_.contains("refused requests")).flatMap("(\\d+) (\\w+_\\w+)".r.findAllMatchIn(_))
      found.groupMapReduce(_.group(2))(_.group(1).toInt)(_ + _)
    }
    val lines = LoggedLines.of(Level.WARN) {
      signed("github") { fixture =>
        val wrong = s"sha256=${hex("hunter3", "a")}"
        (1 to 3).foreach(_ =>
          assert(fixture.post("a", "X-Hub-Signature-256" -> wrong).body == """{"error":"forbidden"}"""))
        assert(fixture.post("a", "X-Hub-Signature-256" -> "sha256=no").status == 403)
      }
      listening("bearerToken" -> "hunter2") { fixture =>
        assert(fixture.post("a").status == 401)
        assert(fixture.post("a", "Authorization" -> "Bearer hunter3").body == """{"error":"unauthorized"}""")
      }
    }
    val expected = Map("wrong_signature" -> 3, "no_signature" -> 1, "no_credential" -> 1, "wrong_credential" -> 1)
    assert(reasons(lines) == expected, lines)
    assert(!lines.exists(line => line.contains("hunter") || line.contains("sha256")), lines)
  }

  test("the log has refusals once a minute") {
    val lines = mutable.Buffer.empty[String]
    val metrics = new HttpMetrics(line => lines += line: Unit)
    val start = System.nanoTime()
    def log(second: Long): Unit = metrics.logRefused(start + second * 1000000000L)
    log(0)
    metrics.countRefusal("wrong_signature")
    log(1)
    (1 to 2).foreach(_ => metrics.countRefusal("wrong_signature"))
    metrics.countRefusal("too_slow")
    metrics.countRefusal("stopping")
    Seq(2L, 30L, 62L, 200L).foreach(log)
    assert(lines == Seq("1 wrong_signature", "2 wrong_signature, 1 too_slow"))
  }

  test("health and metrics are open on loopback; on other addresses they need the credential or openStatus") {
    listening("bearerToken" -> "t")(fixture => assert(fixture.ask("GET", "/metrics", "").status == 200))
    listening("bearerToken" -> "t", "host" -> "0.0.0.0") { fixture =>
      Seq("/health", "/metrics").foreach { path =>
        assert(fixture.ask("GET", path, "").status == 401)
        assert(fixture.ask("GET", path, "", "Authorization" -> "Bearer t").status == 200)
      }
    }
    listening("signature" -> "github", "signatureSecret" -> "s", "host" -> "0.0.0.0")(fixture =>
      assert(fixture.ask("GET", "/health", "").status == 403))
    listening("bearerToken" -> "t", "host" -> "0.0.0.0", "openStatus" -> "true")(fixture =>
      assert(fixture.ask("GET", "/health", "").status == 200))
  }

  test("an address that other machines can reach requires TLS or a credential") {
    val error = intercept[io.epochal.core.error.EpochalException](listening("host" -> "0.0.0.0")(_ => ()))
    assert(error.condition == Conditions.ListenerExposed && error.getMessage.contains("bearerToken"))
  }

  test("contradicting options are refused by name, before the listener starts") {
    assert(refusal("bearerToken" -> "a", "user" -> "u", "password" -> "p").getMessage.contains("bearerToken, user"))
    Seq(
      Seq("user" -> "u") -> "password",
      Seq("password" -> "p") -> "user",
      Seq("signature" -> "github") -> "signatureSecret",
      Seq("signatureSecret" -> "s") -> "signature",
      Seq("previousBearerToken" -> "a") -> "bearerToken",
      Seq("bearerToken" -> "a", "bearerTokenEnv" -> "B") -> "keep one",
      Seq("signature" -> "header", "signatureSecret" -> "s") -> "signatureHeader",
      Seq("signature" -> "github", "signatureSecret" -> "s", "signatureEncoding" -> "hex") -> "signature=header",
      Seq("bearerTokenFile" -> "/nowhere/token") -> "bearerTokenFile",
      Seq("headers" -> "Date,authorization") -> "authorization",
      Seq("maxRequestBytes" -> "2g") -> "1g"
    ).foreach { case (options, named) =>
      assert(refusal(options: _*).getMessage.contains(named), options)
    }
  }

  test("toString of the settings contains no secret") {
    val settings = ListenerFixture.settings(Map("user" -> "nobody", "password" -> "hunter2"))
    assert(!settings.toString.contains("hunter2") && !settings.toString.contains("nobody"))
  }
}
