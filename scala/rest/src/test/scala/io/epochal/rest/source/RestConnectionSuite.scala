package io.epochal.rest.source

import java.io.{InputStream, OutputStream}
import java.net.{InetAddress, ServerSocket, Socket}
import java.util.Base64
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import com.github.tomakehurst.wiremock.WireMockServer
import com.github.tomakehurst.wiremock.client.WireMock.{get, okJson, urlPathEqualTo}
import com.github.tomakehurst.wiremock.core.WireMockConfiguration
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.rest.http.transport.TestCertificates

/** Certificates and proxies between the source and its server. */
final class RestConnectionSuite extends AnyFunSuite with StubbedApi {

  private lazy val authority = new TestCertificates("server")
  private lazy val client = new TestCertificates("client")

  /** An API over TLS, with a certificate that no JVM trusts. */
  private def secured(clientNeeded: Boolean)(body: String => Any): Unit = {
    val configuration = WireMockConfiguration
      .options()
      .bindAddress("127.0.0.1")
      .httpDisabled(true)
      .dynamicHttpsPort()
      .keystorePath(authority.store.toString)
      .keystoreType("PKCS12")
      .keystorePassword(TestCertificates.Password)
      .keyManagerPassword(TestCertificates.Password)
    if (clientNeeded)
      configuration
        .needClientAuth(true)
        .trustStorePath(client.store.toString)
        .trustStoreType("PKCS12")
        .trustStorePassword(TestCertificates.Password)
    val api = new WireMockServer(configuration)
    api.start()
    try {
      api.stubFor(get(urlPathEqualTo("/c")).willReturn(okJson(page)))
      val _ = body(s"https://127.0.0.1:${api.httpsPort()}/c")
    } finally api.stop()
  }

  /** A proxy that records the first lines of requests; it responds to GET itself, and tunnels CONNECT.
    *
    * @param login
    *   required credentials, else it responds with 407
    */
  final private class TestProxy(login: Option[String]) extends AutoCloseable {
    val lines = new ConcurrentLinkedQueue[String]
    private val socket = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"))
    start(while (true) { val from = socket.accept(); start(serve(from)) })

    def url: String = s"http://127.0.0.1:${socket.getLocalPort}"
    override def close(): Unit = socket.close()

    private def start(body: => Any): Unit = {
      val thread = new Thread(() => { val _ = Try(body) })
      thread.setDaemon(true)
      thread.start()
    }

    @scala.annotation.tailrec
    private def serve(from: Socket): Unit = {
      val in = from.getInputStream
      val head = Iterator.continually(line(in)).takeWhile(_.nonEmpty).toVector
      if (head.nonEmpty) {
        lines.add(head.head)
        val wanted = login.map(text => s"proxy-authorization: basic ${Base64.getEncoder.encodeToString(text.getBytes)}")
        if (wanted.exists(expected => !head.exists(_.equalsIgnoreCase(expected)))) {
          say(from, "407 Proxy Authentication Required", "Proxy-Authenticate: Basic realm=\"test\"\r\n", "")
          serve(from)
        } else if (head.head.startsWith("CONNECT")) {
          from.getOutputStream.write("HTTP/1.1 200 Connection established\r\n\r\n".getBytes)
          val port = head.head.split(' ')(1).split(':')(1).toInt
          val to = new Socket("127.0.0.1", port)
          start(copy(in, to.getOutputStream))
          copy(to.getInputStream, from.getOutputStream)
        } else {
          say(from, "200 OK", "Content-Type: application/json\r\n", page)
          serve(from)
        }
      }
    }

    private def say(to: Socket, status: String, headers: String, body: String): Unit =
      to.getOutputStream.write(s"HTTP/1.1 $status\r\n${headers}Content-Length: ${body.length}\r\n\r\n$body".getBytes)

    private def line(in: InputStream): String =
      Iterator.continually(in.read()).takeWhile(c => c >= 0 && c != '\n').filter(_ != '\r').map(_.toChar).mkString

    private def copy(in: InputStream, out: OutputStream): Unit = { val _ = in.transferTo(out) }
  }

  private def through(login: Option[String])(body: TestProxy => Any): Unit =
    Using.resource(new TestProxy(login)) { proxy =>
      val _ = body(proxy)
    }

  test("a custom certificate authority is trusted, and without it the server is not") {
    secured(clientNeeded = false) { url =>
      assert(readAll(stream("url" -> url, "tls.caFile" -> authority.file(authority.certificate))).size == 3)
      val error = failure(readAll(stream("url" -> url)))
      assert(error.condition.name == "HTTP_UNREACHABLE" && error.getMessage.contains("TLS failed"))
      val other = stream("url" -> url, "tls.caFile" -> client.file(client.certificate))
      assert(failure(readAll(other)).getMessage.contains("(1 attempt)"))
    }
  }

  test(
    "a server that requires a client certificate gets it, with the key in a separate file, in the same file, or encrypted") {
    secured(clientNeeded = true) { url =>
      val base = Seq("url" -> url, "tls.caFile" -> authority.file(authority.certificate), "retry.maxAttempts" -> "1")
      Seq(
        Seq("tls.certFile" -> client.file(client.certificate), "tls.keyFile" -> client.file(client.privateKey)),
        Seq("tls.certFile" -> client.file(client.certificate, client.privateKey)),
        Seq("tls.certFile" -> client.file(client.certificate, client.encryptedKey(secret)), "tls.keyPassword" -> secret)
      ).foreach(more => assert(readAll(stream(base ++ more: _*)).size == 3, more.map(_._1)))
      assert(failure(readAll(stream(base: _*))).condition.name == "HTTP_UNREACHABLE")
    }
  }

  test("a plain request goes to the proxy, which alone resolves the server") {
    through(None) { proxy =>
      assert(readAll(stream("url" -> "http://api.invalid/c", "proxy" -> proxy.url)).size == 3)
      assert(proxy.lines.asScala.toSet == Set("GET http://api.invalid/c HTTP/1.1"))
    }
  }

  test("a TLS request is tunnelled through the proxy unread") {
    secured(clientNeeded = false) { url =>
      through(Some(s"me:$secret")) { proxy =>
        val tls = Seq("url" -> url, "tls.caFile" -> authority.file(authority.certificate), "proxy" -> proxy.url)
        assert(readAll(stream(tls ++ Seq("proxyUser" -> "me", "proxyPassword" -> secret): _*)).size == 3)
        assert(proxy.lines.asScala.forall(_.startsWith("CONNECT 127.0.0.1:")))
        val error = failure(readAll(stream(tls ++ Seq("proxyUser" -> "me", "proxyPassword" -> "wrong"): _*)))
        assert(error.values("status") == "407")
      }
    }
  }

  test("proxy credentials are sent after a 407") {
    through(Some(s"me:$secret")) { proxy =>
      val login = Seq("proxyUser" -> "me", "proxyPassword" -> secret)
      assert(readAll(stream(Seq("url" -> "http://api.invalid/c", "proxy" -> proxy.url) ++ login: _*)).size == 3)
    }
  }

  test("unusable files, and options without the option that they depend on, are refused") {
    def refused(more: (String, String)*): String = failure(read(more: _*)).getMessage
    assert(
      refused("tls.caFile" -> "/none").contains("[EPOCHAL.TLS_INVALID] The file of tls.caFile=/none cannot be used"))
    assert(refused("tls.caFile" -> client.file("text")).contains("it has no CERTIFICATE"))
    assert(refused("tls.certFile" -> client.file(client.certificate)).contains("it has no PRIVATE KEY"))
    assert(
      refused("tls.certFile" -> client.file(client.certificate), "tls.keyFile" -> authority.file(authority.privateKey))
        .contains("not that of the first certificate"))
    Seq("tls.keyFile" -> "/k", "tls.keyPassword" -> secret, "proxyUser" -> "me", "proxyPassword" -> secret).foreach(
      option => assert(refused(option).contains("[EPOCHAL.OPTION_CONFLICT]"), option._1))
    Seq("proxy:3128", "https://h:1", "http://h", s"http://me:$secret@h:1").foreach(proxy =>
      assert(refused("proxy" -> proxy).contains("is not http://host:port"), proxy))
    val login = Seq("proxy" -> "http://h:1", "proxyUser" -> secret, "proxyPassword" -> secret)
    assert(!read(login: _*).toString.contains(secret))
  }
}
