package io.epochal.ingest.http

import java.io.IOException
import java.net.InetAddress
import java.security.SecureRandom
import java.security.cert.X509Certificate
import javax.net.ssl.{SSLContext, SSLException, SSLSocket, TrustManager, X509TrustManager}

import scala.util.Using

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.Conditions
import io.epochal.rest.http.transport.TestCertificates

/** TLS with certificates in PEM and PKCS#12. */
final class HttpsListenerSuite extends AnyFunSuite {
  import ListenerFixture._

  private lazy val made = new TestCertificates("server")
  private lazy val pem = Seq("tls.certFile" -> made.file(made.certificate), "tls.keyFile" -> made.file(made.privateKey))

  private def context: SSLContext = {
    val context = SSLContext.getInstance("TLS")
    val anyone = new X509TrustManager {
      override def checkClientTrusted(chain: Array[X509Certificate], kind: String): Unit = ()
      override def checkServerTrusted(chain: Array[X509Certificate], kind: String): Unit = ()
      override def getAcceptedIssuers: Array[X509Certificate] = Array.empty
    }
    context.init(null, Array[TrustManager](anyone), new SecureRandom)
    context
  }

  private def status(fixture: ListenerFixture, protocols: String*): Int = {
    def open(port: Int) = {
      val socket = context.getSocketFactory.createSocket(InetAddress.getLoopbackAddress, port).asInstanceOf[SSLSocket]
      if (protocols.nonEmpty) socket.setEnabledProtocols(protocols.toArray)
      socket
    }
    Using.resource(new RawClient(fixture.port, open)) { client =>
      client.send(RawClient.request("POST", "/", ("a\n" * 20000).getBytes, "Content-Type" -> "text/plain"))
      val response = client.response()
      if (response.status != 200) fail(response.toString)
      response.status
    }
  }

  test("records are received over TLS 1.2 and 1.3, with the certificate in PEM or PKCS#12") {
    val store = Seq("tls.keyStoreFile" -> made.store.toString, "tls.keyStorePassword" -> TestCertificates.Password)
    val encrypted =
      Seq("tls.certFile" -> made.file(made.certificate, made.encryptedKey("hunter2")), "tls.keyPassword" -> "hunter2")
    Seq(pem, store, encrypted).foreach { options =>
      listening(options :+ ("maxRecordsPerRequest" -> "30000"): _*) { fixture =>
        assert(status(fixture, "TLSv1.3") == 200 && status(fixture, "TLSv1.2") == 200)
        assert(fixture.intake.records.size == 40000)
      }
    }
  }

  test("older versions and requests without TLS get no response; the next client is served") {
    listening(pem: _*) { fixture =>
      intercept[SSLException](status(fixture, "TLSv1.1"))
      Using.resource(new RawClient(fixture.port)) { client =>
        client.send(RawClient.request("POST", "/", "a".getBytes, "Content-Type" -> "text/plain"))
        assert(!client.rest().contains("200"))
      }
      assert(status(fixture) == 200)
    }
  }

  test("with TLS an address other than loopback is allowed") {
    listening(pem :+ ("host" -> "0.0.0.0"): _*)(fixture => assert(status(fixture) == 200))
  }

  test("a connection whose handshake stalls is closed") {
    listening(pem :+ ("headTimeout" -> "1s"): _*)(fixture =>
      Using.resource(new RawClient(fixture.port)) { client =>
        try client.send(Array[Byte](22, 3, 1))
        catch { case _: IOException => () }
        client.awaitEnd()
      })
  }

  test("an error in a file names the option and does not quote the file") {
    val other = new TestCertificates("other")
    val text = made.file("hunter2")
    Seq(
      Seq("tls.certFile" -> text) -> "no CERTIFICATE",
      Seq(pem.head, "tls.keyFile" -> other.file(other.privateKey)) -> "not that of the first certificate",
      Seq("tls.certFile" -> "/nowhere.pem") -> "no such file",
      Seq(
        "tls.keyStoreFile" -> made.store.toString,
        "tls.keyStorePassword" -> "wrong") -> "tls.keyStorePassword is wrong",
      Seq("tls.keyStoreFile" -> text) -> "not PKCS#12"
    ).foreach { case (options, said) =>
      val error = refusal(options: _*)
      assert(error.condition == Conditions.TlsInvalid && error.getMessage.contains(said), error.getMessage)
      assert(!error.getMessage.contains("hunter2"))
    }
    assert(refusal(pem.last).getMessage.contains("tls.certFile"))
  }
}
