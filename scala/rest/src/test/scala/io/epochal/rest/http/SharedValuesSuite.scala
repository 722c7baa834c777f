package io.epochal.rest.http

import java.time.Duration
import java.util.concurrent.TimeUnit.MINUTES

import scala.collection.mutable
import scala.util.Using

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import io.epochal.kit.access.Secret
import io.epochal.kit.tls.PemCertificate
import io.epochal.rest.source.RestOptions
import io.epochal.rest.source.member.MemberFixture

final class SharedValuesSuite extends AnyFunSuite with MemberFixture {

  final private class Counted(capacity: Int, keep: Duration = Duration.ofMinutes(10)) {
    var now = 1L
    val discarded = mutable.Buffer.empty[String]
    val values = new SharedValues[String](capacity, _ => keep, discarded += _, () => now)
    def open(name: String): Lease[String] = values.open(Seq(Some(name)))(name)
    def passed(names: String*): Unit = names.map(open).foreach(_.close())
  }

  test("the same identity has the same value while it is in use or kept") {
    val all = new Counted(10)
    var made = 0
    def open() = all.values.open(Seq(Some("a"), None)) { made += 1; s"value $made" }
    Using.resource(open())(first => assert(first.value == "value 1" && open().value == "value 1"))
    assert(open().value == "value 1" && made == 1)
  }

  test("texts, absent texts and their boundaries are parts of the identity") {
    val all = new Counted(100)
    val identities =
      Seq(Seq(Some("ab")), Seq(Some("a"), Some("b")), Seq(Some("ab"), None), Seq(Some("ab"), Some("")), Seq(None), Nil)
    identities.zipWithIndex.foreach { case (identity, i) =>
      assert(all.values.open(identity)(s"$i").value == s"$i")
    }
  }

  test("unused values are evicted once each, least recently used first; values in use stay") {
    val all = new Counted(3)
    val used = (1 to 5).map(i => all.open(s"used $i"))
    all.passed("a", "b")
    assert(all.values.size == 5 && all.discarded.toSeq == Seq("a", "b"))
    used.take(4).foreach(_.close())
    assert(all.discarded.toSeq == Seq("a", "b", "used 1", "used 2") && all.values.size == 3)
    used.foreach(_.close())
    used.foreach(_.close())
    all.passed("c", "used 5", "d")
    assert(all.discarded.drop(4).toSeq == Seq("used 3", "used 4") && all.values.size == 3)
  }

  test("values that are unused for long are evicted on the next access") {
    val all = new Counted(100)
    val lasting = all.open("lasting")
    all.passed("a")
    all.now += MINUTES.toNanos(9)
    all.passed("b")
    all.now += MINUTES.toNanos(2)
    all.passed("c")
    assert(all.discarded.toSeq == Seq("a") && all.values.inUse == 1)
    lasting.close()
    assert(all.values.inUse == 0)
  }

  private val secret = "hunter2-of-the-login"

  /** All texts in the keys, at any depth. */
  private def keysOf(shared: SharedValues[_]): Iterator[String] = {
    def field(of: AnyRef, name: String): AnyRef = {
      val found = of.getClass.getDeclaredFields.find(_.getName.endsWith(name)).get
      found.setAccessible(true)
      found.get(of)
    }
    def texts(of: Any): Iterator[String] = of match {
      case text: String             => Iterator(text)
      case bytes: Array[Byte]       => Iterator(new String(bytes))
      case chars: Array[Char]       => Iterator(new String(chars))
      case number: java.lang.Number => Iterator(number.toString)
      case many: Iterable[_]        => many.iterator.flatMap(texts)
      case product: Product         => product.productIterator.flatMap(texts)
      case other                    => Iterator(other.toString)
    }
    field(shared, "slots").asInstanceOf[mutable.LinkedHashMap[_, _]].keysIterator.flatMap(texts)
  }

  private def shows(shared: SharedValues[_]): Boolean =
    keysOf(shared).exists(text => text.contains("hunter2") || text.contains("-----BEGIN"))

  test("ten thousand endpoints and logins leave few values, and no secret in a key", Slow) {
    def endpoint(i: Int) = Endpoint.of(s"https://h$i/token", Nil, Nil).fold(sys.error, identity)
    (1 to 10000).foreach { i =>
      HttpGate.open("query", s"http://h$i", HttpBudget.Unlimited).close()
      val login = OAuthSettings(
        endpoint(i),
        s"client $i",
        Some(Secret.Given(s"$secret $i")),
        Some(Secret.Given(s"$secret refresh $i")),
        None,
        Seq("audience" -> secret),
        inBody = false)
      OAuthTokens.open(login).close()
    }
    assert(HttpGate.all.size <= 1024 && OAuthTokens.all.size <= 1024)
    assert(!shows(HttpGate.all) && !shows(OAuthTokens.all))
  }

  test("thousands of transports leave few clients and threads, and no secret in a key") {
    val before = Thread.getAllStackTraces.size
    (1 to 1000).foreach { i =>
      val proxy = Proxy("127.0.0.1", 3128, Some(s"user $i" -> s"$secret $i"))
      HttpConnections.open(HttpTransport(Duration.ofSeconds(1), None, Some(proxy))).close()
    }
    assert(HttpConnections.all.size <= 32)
    assert(Thread.getAllStackTraces.size < before + 150)
    assert(!shows(HttpConnections.all))
    val certificate = PemCertificate("-----BEGIN CERTIFICATE", "-----BEGIN PRIVATE KEY", Some(secret))
    val tls = new Tls(Some("-----BEGIN CERTIFICATE"), Some(certificate))
    val transport = HttpTransport(Duration.ofSeconds(1), Some(tls), None)
    assert(!s"${Fingerprint.of(transport.identity)}".contains("hunter2"))
    assert(Fingerprint.of(transport.identity) == Fingerprint.of(transport.identity))
    assert(Fingerprint.of(transport.identity) != Fingerprint.of(transport.copy(tls = None).identity))
  }

  test("a closed client leaves nothing in use, nor does one that fails to open") {
    val options = Map("url" -> "http://127.0.0.1:1/c")
    val settings = RestOptions.read(options).fold(throw _, _.requests.http)
    val before = (HttpConnections.all.inUse, HttpGate.all.inUse, OAuthTokens.all.inUse)
    Using.resource(new HttpClient(settings, new HttpCounters))(_ => assert(HttpGate.all.inUse == before._2 + 1))
    assert((HttpConnections.all.inUse, HttpGate.all.inUse, OAuthTokens.all.inUse) == before)
  }

  test("the lists of a parent have one client for each level, and a stream that stops leaves nothing in use") {
    val before = HttpGate.all.inUse
    query("x/a" -> 3, "x/b" -> 3) { query =>
      assert(query.batch().size == 6)
      assert(HttpGate.all.inUse <= before + 3)
    }
    assert(HttpGate.all.inUse == before)
  }
}
