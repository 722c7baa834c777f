package io.epochal.rest.http

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.time.{Clock, Instant, ZoneOffset}
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import com.sun.net.httpserver.HttpExchange
import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.apache.spark.sql.types.StructType
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.core.error.EpochalException
import io.epochal.core.journal.{FileInput, FileOutput, FileStore}
import io.epochal.kit.store.HadoopFileStore
import io.epochal.rest.source.{RestOptions, RestStreams}
import io.epochal.testkit.MicroBatch

/** OAuth 2 refresh tokens that the server replaces at each use, across drivers. */
final class RefreshTokenSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  /** An API and its token server, which invalidates a refresh token at its use. Access tokens serve one request. */
  final private class Rotating extends StubServer("/api") {
    @volatile var valid = "r0"
    @volatile var rotates = true
    val refused = new ConcurrentLinkedQueue[String]
    @volatile private var number = 0
    @volatile private var access = ""

    override protected def serve(exchange: HttpExchange): Unit = synchronized {
      val sent = new String(exchange.getRequestBody.readAllBytes(), UTF_8)
      val (status, text) =
        if (!exchange.getRequestURI.getPath.endsWith("/token")) {
          val fits = exchange.getRequestHeaders.getFirst("Authorization") == s"Bearer $access"
          access = ""
          if (fits) (200, """[{"id":0},{"id":1}]""") else (401, "{}")
        } else if (sent.contains(s"refresh_token=$valid&")) {
          number += 1
          if (rotates) valid = s"r$number"
          access = s"a$number"
          (200, s"""{"access_token":"$access","expires_in":3600,"refresh_token":"$valid"}""")
        } else {
          refused.add(sent)
          (400, """{"error":"invalid_grant"}""")
        }
      val bytes = text.getBytes(UTF_8)
      exchange.sendResponseHeaders(status, bytes.length.toLong)
      exchange.getResponseBody.write(bytes)
    }
  }

  private val schema = StructType.fromDDL("id INT")

  private def options(api: Rotating, token: String = "r0"): Map[String, String] = Map(
    "url" -> s"${api.url}/items",
    "oauth.tokenUrl" -> s"${api.url}/token",
    "oauth.clientId" -> "me",
    "oauth.refreshToken" -> token,
    "retry.initialDelay" -> "1ms",
    "refreshInterval" -> "0s",
    "numPartitions" -> "1")

  /** A run of a query in a driver of its own, whose memory of tokens is empty. */
  private def run(api: Rotating, checkpoint: Path, token: String = "r0"): Int = {
    OAuthTokens.all.clear()
    val stream = RestStreams.of(RestOptions.read(options(api, token)).fold(throw _, identity), schema, checkpoint)
    try {
      val start = stream.initialOffset()
      MicroBatch.next(stream, start, ReadLimit.allAvailable()).fold(0)(MicroBatch.read(stream, schema, start, _).size)
    } finally stream.stop()
  }

  private def using(body: (Rotating, Path) => Unit): Unit = {
    val api = new Rotating
    try body(api, Files.createTempDirectory("rest").resolve("0"))
    finally api.close()
  }

  private def files(checkpoint: Path): Seq[String] =
    Files.list(checkpoint.resolve("oauth")).iterator().asScala.map(_.getFileName.toString).toSeq

  test("each run continues with the token that the last one got; its file is the only one, and only its owner's") {
    using { (api, checkpoint) =>
      (1 to 3).foreach { n =>
        assert(run(api, checkpoint) == 2, n)
        assert(files(checkpoint).map(_.split('-').last) == Seq(api.valid.drop(1)))
      }
      assert(api.refused.isEmpty)
      val place = checkpoint.resolve("oauth")
      assert(java.nio.file.attribute.PosixFilePermissions.toString(Files.getPosixFilePermissions(place)) == "rwx------")
      val text = Files.readString(place.resolve(files(checkpoint).head))
      assert(text == s"""{"v":1,"refreshToken":"${api.valid}"}""")
    }
  }

  test("a driver killed before the token is written has lost it, until the options have another one") {
    using { (api, checkpoint) =>
      assert(run(api, checkpoint) == 2)
      // The server has answered a request of a driver that no longer exists.
      val stored = api.valid
      api.valid = "fresh"
      val error = intercept[EpochalException](run(api, checkpoint))
      assert(error.condition.name == "OAUTH_REFUSED" && error.getMessage.contains("must be replaced by a new one"))
      assert(api.refused.peek().contains(s"refresh_token=$stored&") && !error.getMessage.contains(stored))
      assert(run(api, checkpoint, "fresh") == 2 && run(api, checkpoint, "fresh") == 2)
    }
  }

  test("a file that a kill has cut short does not count, and one of a newer version is refused") {
    using { (api, checkpoint) =>
      assert(run(api, checkpoint) == 2)
      val name = files(checkpoint).head
      val later = s"${name.dropRight(name.split('-').last.length)}100"
      val place = checkpoint.resolve("oauth").resolve(later)
      Files.writeString(place, """{"v":1,"refre""")
      assert(run(api, checkpoint) == 2 && api.refused.isEmpty)
      Files.writeString(checkpoint.resolve("oauth").resolve(s"${later}9"), """{"v":2}""")
      assert(intercept[EpochalException](run(api, checkpoint)).condition.name == "OFFSET_VERSION_UNSUPPORTED")
    }
  }

  test("a token is written before its access token is used: if it cannot be, no request is made with it") {
    using { (api, _) =>
      OAuthTokens.all.clear()
      val store = new FileStore {
        override def create(name: String): FileOutput = throw new IOException("the disk is full")
        override def open(name: String): FileInput = throw new IOException("none")
        override def exists(name: String): Boolean = false
        override def names(): Seq[String] = Nil
        override def delete(name: String): Unit = ()
      }
      val http = RestOptions.read(options(api)).fold(throw _, _.requests.http)
      http.auth.foreach(_.keep(store))
      val credential = http.auth.head.open(http, new HttpCounters)
      assert(intercept[IOException](credential.headers).getMessage == "the disk is full" && api.valid == "r1")
      // This driver still knows it.
      http.auth.foreach(_.keep(new HadoopFileStore(Files.createTempDirectory("rest").toString, new Configuration())))
      intercept[IOException](credential.headers): Unit
      assert(api.refused.isEmpty && api.valid == "r2")
      credential.close()
    }
  }

  test("a token that the server does not replace is in no checkpoint") {
    using { (api, checkpoint) =>
      api.rotates = false
      (1 to 2).foreach(_ => assert(run(api, checkpoint) == 2))
      assert(!Files.exists(checkpoint.resolve("oauth")) && api.refused.isEmpty)
    }
  }

  /** Drivers that share a checkpoint, and a token server that accepts only the newest refresh token. */
  final private class Drivers {
    private val clock = Clock.fixed(Instant.EPOCH, ZoneOffset.UTC)
    private val store = new HadoopFileStore(Files.createTempDirectory("rest").toString, new Configuration())
    private val file = new RefreshTokenFile(store, "me")
    private var valid = "r0"
    private var memories = Map.empty[Int, OAuthTokens]

    /** Starts a query, in a JVM that may have run it before. */
    def start(driver: Int): Unit = {
      if (!memories.contains(driver)) exit(driver)
      memories(driver).keep("checkpoint", file)
    }

    def exit(driver: Int): Unit = memories += driver -> new OAuthTokens(clock)

    /** The token that the driver sends, and the one that the server accepts. */
    def renew(driver: Int): (String, String) = {
      var sent = ("", "")
      memories.get(driver).fold(()) { tokens =>
        tokens.token { (latest, _) =>
          sent = (latest.getOrElse("r0"), valid)
          valid = s"r${valid.drop(1).toInt + 1}"
          OAuthGrant(AccessToken("a", Instant.EPOCH, Some(Instant.EPOCH)), Some(valid))
        }: Unit
      }
      sent
    }

    def stored: Option[String] = file.read().map(_.text)
  }

  test("a driver that starts the query again takes the token that another driver has written, and keeps it there") {
    val drivers = new Drivers
    Seq(1, 2).foreach { driver =>
      drivers.start(driver)
      drivers.renew(driver): Unit
    }
    drivers.start(1)
    assert(drivers.stored.contains("r2") && drivers.renew(1) == (("r2", "r2")) && drivers.stored.contains("r3"))
  }

  test("drivers that share a checkpoint always send the newest token, in any order of starts, renewals and exits") {
    val steps = Gen.listOf(Gen.zip(Gen.oneOf("start", "renew", "renew", "exit"), Gen.choose(1, 3)))
    forAll(steps) { steps =>
      val drivers = new Drivers
      (1 to 3).foreach(drivers.start)
      steps.foreach {
        case ("start", driver) => drivers.start(driver)
        case ("renew", driver) =>
          val (sent, valid) = drivers.renew(driver)
          assert(sent == valid)
        case (_, driver) =>
          drivers.exit(driver)
          drivers.start(driver)
      }
    }
  }

  test("a checkpoint with an older token gets the newer one that its driver knows from another checkpoint") {
    val (one, two) = (Files.createTempDirectory("rest"), Files.createTempDirectory("rest"))
    def file(place: Path) = new RefreshTokenFile(new HadoopFileStore(place.toString, new Configuration()), "me")
    file(one).write(ReplacedToken(3, "r3")): Unit
    file(two).write(ReplacedToken(2, "r2")): Unit
    val tokens = new OAuthTokens(Clock.fixed(Instant.EPOCH, ZoneOffset.UTC))
    Seq(one, two, one).foreach(place => tokens.keep(place.toString, file(place)))
    assert(Seq(one, two).map(file(_).read()) == Seq.fill(2)(Some(ReplacedToken(3, "r3"))))
  }
}
