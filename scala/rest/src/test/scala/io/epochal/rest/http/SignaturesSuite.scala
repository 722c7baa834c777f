package io.epochal.rest.http

import java.net.URI
import java.nio.charset.StandardCharsets.UTF_8
import java.time.Instant
import java.util.HexFormat
import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec

import scala.jdk.CollectionConverters._

import com.github.tomakehurst.wiremock.client.WireMock._
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.kit.access.Secret
import io.epochal.kit.source.ManualClock
import io.epochal.rest.source.StubbedApi

/** Requests that are signed by AWS Signature Version 4, and by HMAC. */
final class SignaturesSuite extends AnyFunSuite with StubbedApi {

  private val at = Instant.parse("2015-08-30T12:36:00Z")
  private val empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
  private val example = AwsSettings(
    Secret.Given("AKIDEXAMPLE"),
    Secret.Given("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
    None,
    "us-east-1",
    "service")

  private def signed(settings: AwsSettings, path: String, query: String, headers: (String, String)*): String = {
    val all = Seq("Host" -> "example.amazonaws.com", "X-Amz-Date" -> "20150830T123600Z") ++ headers
    AwsSigV4.authorization(settings, at, "GET", path, query, all, empty)
  }

  private def signature(authorization: String): String = authorization.split("Signature=").last

  test("AWS: signatures are those of AWS's test suite") {
    assert(
      signed(example, "/", "") == "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, " +
        "SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31")
    Seq(
      ("/example1/example2/../..", "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
      ("//example//", "", "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84"),
      ("/example space/", "", "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"),
      ("/", "Param2=value2&Param1=value1", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
      ("/", "ሴ=bar", "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"),
      (
        "/",
        "Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
        "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac")
    ).foreach { case (path, query, expected) =>
      assert(signature(signed(example, path, query)) == expected, path + query)
    }
    val token = "X-Amz-Security-Token" -> "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"
    assert(
      signature(signed(example, "/", "", token)) == "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8")
    val trimmed = signed(example, "/", "", "My-Header1" -> " value1", "My-Header2" -> " \"a   b   c\"")
    assert(signature(trimmed) == "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736")
    val body = "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e"
    val posted = Seq(
      "Content-Type" -> "application/x-www-form-urlencoded",
      "Host" -> "example.amazonaws.com",
      "Content-Length" -> "13",
      "x-amz-content-sha256" -> body,
      "X-Amz-Date" -> "20150830T123600Z")
    assert(
      signature(AwsSigV4.authorization(example, at, "POST", "/", "", posted, body)) ==
        "d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b")
  }

  test("AWS: S3 signs a path as it is, other services without dot segments") {
    val s3 = example.copy(service = "s3")
    assert(signed(s3, "/a/./b", "") != signed(s3, "/a/b", "") && signed(s3, "/a%20b", "") == signed(s3, "/a b", ""))
    assert(signed(example, "/a/./b", "") == signed(example, "/a/b", ""))
  }

  private val aws = Seq(
    "aws.accessKeyId" -> "AKIDEXAMPLE",
    "aws.secretAccessKey" -> secret,
    "aws.region" -> "eu-central-1",
    "aws.service" -> "execute-api")

  test("AWS: a request is signed with its host, its own headers and its body, again on a retry") {
    respond(aResponse().withStatus(503), good)
    val set = aws ++ Seq("aws.sessionToken" -> "session", "params.q" -> "a b+c*", "headers.X-Amz-Target" -> "T.List")
    assert(readAll(stream(set: _*)).size == 3)
    val sent = server.getAllServeEvents.asScala.map(_.getRequest).toSeq
    assert(sent.size == 3)
    val settings = example.copy(secretKey = Secret.Given(secret), region = "eu-central-1", service = "execute-api")
    sent.foreach { request =>
      val time = request.getHeader("X-Amz-Date")
      val names = Seq("Host", "X-Amz-Date", "X-Amz-Target", "X-Amz-Content-Sha256", "X-Amz-Security-Token")
      val expected = AwsSigV4.authorization(
        settings,
        Instant.from(AwsSigV4.Date.parse(time)),
        "GET",
        "/c",
        request.getUrl.drop("/c?".length),
        names.map(name => name -> request.getHeader(name)),
        empty)
      assert(request.getHeader("Authorization") == expected && request.getHeader("X-Amz-Content-Sha256") == empty)
    }
    val clock = new ManualClock(at)
    val signer = new AwsSigner(example, clock)
    def one() = signer.signature(HttpCall("GET", "/"), URI.create("https://h:8443"), "/", Nil).toMap
    val first = one()
    clock.advance(1)
    assert(one()("X-Amz-Date") == "20150830T123601Z" && one()("Authorization") != first("Authorization"))
  }

  private def hmac(algorithm: String, key: String, text: Array[Byte]): Array[Byte] = {
    val mac = Mac.getInstance(algorithm)
    mac.init(new SecretKeySpec(key.getBytes(UTF_8), algorithm))
    mac.doFinal(text)
  }

  test("HMAC: time, method, path with query, and body are signed, again on a retry") {
    respond(aResponse().withStatus(503), good)
    assert(readAll(stream("hmac.secret" -> secret, "params.q" -> "a b", "bearerToken" -> "other")).size == 3)
    val sent = server.getAllServeEvents.asScala.map(_.getRequest).toSeq
    assert(sent.size == 3)
    sent.foreach { request =>
      val text = s"${request.getHeader("X-Timestamp")}GET/c?q=a%20b"
      val expected = HexFormat.of.formatHex(hmac("HmacSHA256", secret, text.getBytes(UTF_8)))
      assert(request.getHeader("X-Signature") == expected && request.getHeader("Authorization") == "Bearer other")
    }
  }

  test("HMAC: text, hash, encoding, header and time are those of the options") {
    val body = Array[Byte](-1, 0, 36, 123)
    def headers(more: (String, String)*): Map[String, String] = {
      val set = read(("hmac.secret" -> "key") +: more: _*).requests.http.auth.collect { case one: HmacSettings => one }
      val call = HttpCall("PUT", "/x", body = Some(new HttpBody("text/plain", body)))
      new HmacSigner(set.head, new ManualClock(at)).signature(call, URI.create("http://h"), "/x?y=1", Nil).toMap
    }
    val fox = "The quick brown fox jumps over the lazy dog"
    assert(
      headers("hmac.text" -> fox, "hmac.header" -> "X-Hub-Signature-256", "hmac.prefix" -> "sha256=") ==
        Map("X-Hub-Signature-256" -> "sha256=f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8"))
    val long = headers("hmac.text" -> fox, "hmac.algorithm" -> "sha512")("X-Signature")
    assert(long.startsWith("b42af09057bac1e2d41708e48a902e09b5ff7f12ab428a4fe86653c73dd248fb"))
    val text = "PUT 1440938160000\n/x?y=1\n".getBytes(UTF_8) ++ body
    val all = headers(
      "hmac.text" -> "@{method} @{timestampMillis}\n@{path}\n@{body}".replace('@', '$'),
      "hmac.encoding" -> "base64",
      "hmac.timestampHeader" -> "X-At")
    val expected = java.util.Base64.getEncoder.encodeToString(hmac("HmacSHA256", "key", text))
    assert(all == Map("X-At" -> "1440938160000", "X-Signature" -> expected))
    assert(headers()("X-Timestamp") == "1440938160")
  }

  test("what a signature lacks or cannot have is refused before the query starts") {
    def refused(options: (String, String)*): String = failure(read(options: _*)).getMessage
    aws.foreach { case (name, _) =>
      val rest = aws.filter(_._1 != name)
      val said = refused(rest: _*)
      val expected = if (name == "aws.accessKeyId") "without aws.accessKeyId" else s"needs the option '$name'"
      assert(said.contains(expected), said)
    }
    assert(refused(aws :+ ("bearerToken" -> "b"): _*).contains("bearerToken, aws.accessKeyId"))
    val key = "hmac.secret" -> secret
    assert(refused("hmac.header" -> "X").contains("hmac.header without hmac.secret"))
    assert(refused(key, "hmac.text" -> "${query}").contains("OPTION_INVALID"))
    assert(refused(key, "hmac.header" -> "Host").contains("OPTION_INVALID"))
    assert(refused(key, "headers.x-signature" -> "1").contains("hmac.header, headers.X-Signature"))
    assert(refused(key, "hmac.algorithm" -> "md5").contains("one of sha256, sha512"))
  }

  test("keys appear in no text, also where the server repeats them") {
    Seq(
      aws,
      aws.map { case (name, text) => name -> (if (name == "aws.accessKeyId") secret else text) },
      aws :+ ("aws.sessionToken" -> secret),
      Seq("hmac.secret" -> secret),
      Seq("digest.user" -> secret, "digest.password" -> secret)).foreach { set =>
      respond(aResponse().withStatus(403).withBody(s"no: $secret"))
      val options = read(set: _*)
      assert(!s"$options ${options.requests.http.auth} ${options.source}".contains(secret))
      assert(failure(readAll(stream(set: _*))).getMessage.contains("no: ***"))
    }
  }
}
