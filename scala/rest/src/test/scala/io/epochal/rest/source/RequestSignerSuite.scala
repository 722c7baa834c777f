package io.epochal.rest.source

import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.atomic.AtomicInteger
import java.util.{HexFormat, Map => JavaMap}
import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec

import scala.jdk.CollectionConverters._

import com.github.tomakehurst.wiremock.client.WireMock._
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.kit.{RequestSigner, UnsignedRequest}

/** Signs method, path, query and the number of the request. */
class HmacSigner extends RequestSigner {
  private var key: String = _

  override def configure(settings: JavaMap[String, String]): Unit = {
    key = settings.get("key")
    if (key == null) throw new IllegalArgumentException("it needs signer.key")
  }

  override def sign(request: UnsignedRequest): JavaMap[String, String] = {
    val number = HmacSigner.signed.incrementAndGet().toString
    val text = s"${request.method} ${request.uri.getRawPath}?${request.uri.getRawQuery} $number"
    JavaMap.of("X-Number", number, "X-Signature", HmacSigner.hmac(key, text))
  }
}

object HmacSigner {
  val signed = new AtomicInteger

  def hmac(key: String, text: String): String = {
    val mac = Mac.getInstance("HmacSHA256")
    mac.init(new SecretKeySpec(key.getBytes(UTF_8), "HmacSHA256"))
    HexFormat.of.formatHex(mac.doFinal(text.getBytes(UTF_8)))
  }
}

class BrokenSigner extends RequestSigner {
  private var headers = JavaMap.of[String, String]()
  override def configure(settings: JavaMap[String, String]): Unit = headers = settings
  override def sign(request: UnsignedRequest): JavaMap[String, String] =
    if (headers.isEmpty) throw new IllegalStateException("hunter2") else headers
}

object NoSignerWitness {
  @volatile var ran = false
}

/** Records the initialisation of its class. */
object NoSigner {
  NoSignerWitness.ran = true
}

final class RequestSignerSuite extends AnyFunSuite with StubbedApi {

  private val hmac = Seq("signerClass" -> classOf[HmacSigner].getName, "signer.key" -> secret)
  private val broken = "signerClass" -> classOf[BrokenSigner].getName

  test("every request is signed as it is sent, and signed again on a retry") {
    respond(aResponse().withStatus(503), good)
    assert(readAll(stream(hmac ++ Seq("params.q" -> "a b", "apiKey" -> "k", "apiKeyParam" -> "key"): _*)).size == 3)
    val sent = server.getAllServeEvents.asScala.map(_.getRequest).toSeq
    val numbers = sent.map { request =>
      val number = request.getHeader("X-Number")
      assert(request.getUrl == "/c?q=a%20b&key=k")
      assert(request.getHeader("X-Signature") == HmacSigner.hmac(secret, s"GET ${request.getUrl} $number"))
      number
    }
    assert(numbers.size == 3 && numbers.distinct == numbers)
  }

  test("a signer gets the headers of a request, and its own replace them") {
    respond(good)
    readAll(stream(broken, "signer.X-Key" -> "signed", "headers.x-key" -> "plain"))
    assert(server.getAllServeEvents.asScala.forall(_.getRequest.header("X-Key").values.asScala.toSeq == Seq("signed")))
  }

  test("a signer that cannot be instantiated or configured is refused before the query starts") {
    def refused(options: (String, String)*): String = failure(read(options: _*)).getMessage
    assert(refused("signerClass" -> "no.such.Class").contains("the class is not on the class path"))
    assert(refused("signerClass" -> "java.lang.String").contains("it is not an io.epochal.kit.RequestSigner"))
    assert(refused("signerClass" -> classOf[RequestSigner].getName).contains("it cannot be instantiated"))
    assert(
      refused(hmac.head).contains("[EPOCHAL.SIGNER_INVALID]") && refused(hmac.head).contains("it needs signer.key"))
    assert(refused("signer.key" -> secret).contains("[EPOCHAL.OPTION_CONFLICT]"))
  }

  test("a class that is not a signer is not initialised") {
    val name = "io.epochal.rest.source.NoSigner$"
    assert(failure(read("signerClass" -> name)).getMessage.contains("it is not an io.epochal.kit.RequestSigner"))
    assert(!NoSignerWitness.ran)
  }

  test("a signer that fails ends the query at once, without its message") {
    respond(good)
    val error = failure(readAll(stream(broken)))
    assert(
      error.condition.name == "SIGNER_INVALID" && error.getMessage.contains("threw java.lang.IllegalStateException"))
    Seq("signer.Host" -> "h", "signer.X" -> "a\r\nY: b", "signer.X Y" -> "z").foreach { header =>
      assert(failure(readAll(stream(broken, header))).getMessage.contains("cannot be sent"), header._1)
    }
    assert(requests == 0)
  }

  test("a signer's settings appear in no text") {
    assert(!read(hmac: _*).toString.contains(secret))
  }
}
