package io.epochal.rest.http.transport

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import io.epochal.kit.tls.PemCertificate
import io.epochal.kit.tls.{Pem, PemException}
import io.epochal.rest.http.{Proxy, Tls}

final class PemSuite extends AnyFunSuite {

  private lazy val client = new TestCertificates("client")
  private lazy val other = new TestCertificates("other")

  private def wrong(body: => Any): String = intercept[PemException] { val _ = body }.getMessage

  test("keys of every usual kind are read, plain or encrypted, and match their certificate", Slow) {
    Seq("-keyalg RSA -keysize 2048", "-keyalg EC", "-keyalg Ed25519").foreach { kind =>
      val made = new TestCertificates("made", kind)
      Seq(made.privateKey -> None, made.encryptedKey("hunter2") -> Some("hunter2")).foreach { case (key, password) =>
        assert(
          Tls(Some(made.certificate), Some(PemCertificate(made.certificate, key, password))).context() != null,
          kind)
      }
    }
  }

  test("all certificates of a text are read in order, with any text between them") {
    val found =
      Pem.certificates(s"subject=client\n${client.certificate}\n# and\n${other.certificate}${client.privateKey}")
    assert(found.map(_.getSubjectX500Principal.getName) == Seq("CN=client", "CN=other"))
  }

  test("errors name the problem without any of the text") {
    assert(wrong(Pem.certificates("")) == "it has no CERTIFICATE in PEM")
    assert(wrong(Pem.certificates(TestCertificates.pem("CERTIFICATE", Array(1, 2, 3)))).contains("is damaged"))
    assert(wrong(Pem.privateKey(client.certificate, None)) == "it has no PRIVATE KEY in PEM")
    assert(wrong(Pem.privateKey(TestCertificates.pem("PRIVATE KEY", Array(1, 2, 3)), None)).contains("is damaged"))
    assert(wrong(Pem.privateKey(TestCertificates.pem("RSA PRIVATE KEY", Array(1)), None)).contains("openssl pkcs8"))
    assert(wrong(Pem.privateKey(client.encryptedKey("right"), None)).contains("set {option:tls.keyPassword}"))
    assert(
      wrong(Pem.privateKey(client.encryptedKey("right"), Some("wrong"))).contains("is {option:tls.keyPassword} right?"))
  }

  test("a key of another certificate is refused") {
    assert(
      wrong(Tls(None, Some(PemCertificate(client.certificate, other.privateKey, None))).context())
        .contains("not that of the first certificate"))
  }

  test("equal settings share connections, and their toString hides secrets") {
    val one = Tls(None, Some(PemCertificate(client.certificate, client.privateKey, Some("hunter2"))))
    val same = Tls(None, Some(PemCertificate(client.certificate, client.privateKey, Some("hunter2"))))
    assert(one == same)
    val all = s"$one ${one.client} ${Proxy("h", 1, Some("nobody" -> "hunter2"))}"
    assert(!all.contains("hunter2") && !all.contains("BEGIN") && !all.contains("nobody"))
  }
}
