package io.epochal.rest.source.page

import java.nio.charset.StandardCharsets.UTF_8

import com.fasterxml.jackson.core.JsonProcessingException
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.core.error.EpochalException
import io.epochal.kit.record.{JsonRecords, PageScan, RecordFormat, ScannedPage}
import io.epochal.rest.http.{Bodies, Endpoint}
import io.epochal.rest.source._

/** The next page according to a response, without a server. */
final class NextPagesSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val endpoint =
    Endpoint
      .of("https://api.example.com/v1/items?lang=en", Seq("key" -> "s3cret", "a[]" -> "1", "q" -> "b c"), Nil)
      .toOption
      .get

  private def kept(url: String, target: String = "/v1/items?lang=en"): String =
    PageUrl.of(endpoint, target, url).fold(refused => fail(s"$refused"), identity)

  private def refused(url: String): NoPage.Refused =
    PageUrl.of(endpoint, "/v1/items", url) match {
      case Left(refused: NoPage.Refused) => refused
      case other                         => fail(s"was taken: $other")
    }

  test("a Link header's target is found by its relation, as defined in RFC 8288") {
    Seq(
      "<https://h/c?page=2>; rel=\"next\"" -> Some("https://h/c?page=2"),
      "<https://h/c?page=1>; rel=\"prev\", <https://h/c?page=3>; rel=\"next\"" -> Some("https://h/c?page=3"),
      "</c?a=1,2;3>;rel=next" -> Some("/c?a=1,2;3"),
      "<u>; title=\"a, <b>; rel=\\\"next\\\"\"; rel=last" -> None,
      "<u> ; REL = \"last Next\"" -> Some("u"),
      "<u>; rel=prev; rel=next" -> None,
      "<u>; rel=next; anchor=\"/other\"" -> None,
      "<u>" -> None,
      "<u>; title=12\" vinyl; rel=\"next\"" -> Some("u"),
      "<u>; rel" -> None,
      "<u; rel=next" -> None,
      "" -> None
    ).foreach { case (header, target) => assert(LinkHeader.find(Seq(header), "next") == target, header) }
    assert(LinkHeader.find(Seq("<a>; rel=last", "<b>; rel=next"), "NEXT").contains("b"))
  }

  test("parsing any Link header terminates") {
    forAll(Gen.listOf(Gen.oneOf('<', '>', ';', ',', '"', '\\', '=', ' ', 'r', 'e', 'l')).map(_.mkString)) { header =>
      assert(LinkHeader.find(Seq(header), "rel").forall(_.length <= header.length))
    }
  }

  test("credentials that an address repeats are not stored") {
    val asking = endpoint.withCredential(Some("api key"))
    val address = "https://api.example.com/v1/items?page=2&api%20key=T0p&lang=en"
    assert(PageUrl.of(asking, "/v1/items", address).contains("/v1/items?page=2&lang={0}"))
  }

  test("an address may be absolute or relative, and must have the same scheme, host and port") {
    assert(kept("https://api.example.com/v1/items?page=2") == "/v1/items?page=2")
    assert(kept("HTTPS://API.example.com:443/v1/x") == "/v1/x")
    assert(kept("//api.example.com/y?z#f") == "/y?z")
    assert(kept("/v2?page=2") == "/v2?page=2")
    assert(kept("?page=2", "/v1/items?page=1") == "/v1/items?page=2")
    assert(kept("other?page=2") == "/v1/other?page=2")
    assert(kept("https://api.example.com") == "/")
    assert(kept("/v1?q=a b|c{d}ü😀%20") == "/v1?q=a%20b%7Cc%7Bd%7D%C3%BC%F0%9F%98%80%20")
    // A percent sign that begins no escape stands for itself.
    assert(kept("/v1?q=100%&z=%zz%2&w=%41%") == "/v1?q=100%25&z=%25zz%252&w=%41%25")
    // An API behind a proxy that terminates TLS.
    assert(kept("http://api.example.com/v1?page=2") == "/v1?page=2")
    Seq(
      "https://evil.example.com/v1",
      "https://api.example.com:8443/v1",
      "http://api.example.com:8080/v1",
      "ftp://api.example.com/")
      .foreach(url => assert(refused(url).reason == "it leads to another server than https://api.example.com", url))
    assert(refused("https://me:pw@evil.example.com/v1?key=s3cret").link == "https://evil.example.com/v1")
    assert(refused("https://api.example.com@evil.example.com/v1").reason.contains("leads to another server"))
    assert(refused("http://[x/").reason == "it is not a URL")
  }

  test("secrets are not stored under another name or in another encoding, and are renewed with the query") {
    def endpoint(key: String, token: String) = Endpoint
      .of("https://h/c?lang=en", Seq("api_key" -> key, "a" -> "1"), Seq("X-Token" -> token))
      .toOption
      .get
      .withCredential(Some("access_key"))
    val old = endpoint("s3cret+/=", "t0ken 1")
    val renewed = endpoint("n3w", "t2")
    Seq(
      "apiKey=s3cret%2B%2F%3D" -> ("apiKey={param:api_key:0}", "apiKey=n3w"),
      "API-Key=s3cret+/%3d" -> ("API-Key={param:api_key:0}", "API-Key=n3w"),
      "api_key=s3cret+/=" -> ("api_key={0}", "api_key=n3w"),
      "k=s3cret%2b/=" -> ("k={param:api_key:0}", "k=n3w"),
      "t=t0ken+1" -> ("t={header:X-Token:0}", "t=t2"),
      "A=1" -> ("A={param:a:0}", "A=1"),
      "b=1" -> ("b=1", "b=1"),
      "lang=de" -> ("lang=de", "lang=de")
    ).foreach { case (given, (kept, opened)) =>
      val page = PageUrl.of(old, "/c", s"/c?$given&page=2").fold(refused => fail(s"$refused"), identity)
      assert(page == s"/c?$kept&page=2")
      assert(PageUrl.open(renewed, page) == s"/c?$opened&page=2")
    }
    assert(PageUrl.of(old, "/c", "/c?accessKey=x&page=2") == Right("/c?page=2"))
  }

  test("the shown address has no own parameter, in any spelling, and no secret value") {
    val options = RestOptions
      .read(
        Map(
          "url" -> "https://me:pa55word@api.example.com/v1/items?sig=abc%2Bd/e",
          "params.api_key" -> "s3cret+/=",
          "params.lang" -> "en",
          "headers.X-Token" -> "t0ken-1",
          "schema" -> "id INT"))
      .fold(throw _, identity)
    def shown(target: String) = PageUrl.displayUrl(options.requests.endpoint, options.requests.own, target)
    assert(
      shown(
        "/v1/items?sig=abc%2Bd/e&api_key=s3cret&lang=en&page=2&after=x") == "https://api.example.com/v1/items?page=2&after=x")
    assert(shown("/v1/items?apiKey=s3cret%2b%2f%3d&SIG=1&page=2") == "https://api.example.com/v1/items?page=2")
    assert(shown("/v1/items?t=t0ken-1&k=s3cret%2b%2f%3d&page=2") == "https://api.example.com/v1/items?page=2")
    val link =
      "<https://api.example.com/v1?api-key=s3cret%2b%2f%3d&page=2>; rel=\"next\", <?page=9&x=t0ken-1>; rel=last, t0ken-1"
    assert(
      options.requests.own.mask(
        link) == "<https://api.example.com/v1?api-key=***&page=2>; rel=\"next\", <?page=9&x=***>; rel=last, ***")
  }

  test("own parameters in an address are stored without their values, which are restored") {
    val page = kept("https://api.example.com/v1/items?key=s3cret&after=5&a%5B%5D=1&lang=en&q=b+c")
    assert(page == "/v1/items?key={0}&after=5&a%5B%5D={0}&lang={0}&q={0}")
    assert(PageUrl.open(endpoint, page) == "/v1/items?key=s3cret&after=5&a%5B%5D=1&lang=en&q=b%20c")
    assert(kept("/v1/items?key=another&lang=de") == "/v1/items?key=another&lang=de")
    val renewed = Endpoint.of("https://api.example.com/v1/items", Seq("key" -> "n3w"), Nil).toOption.get
    assert(PageUrl.open(renewed, page) == "/v1/items?key=n3w&after=5")
    val twice = Endpoint.of("https://h/c?t=a&t=b", Nil, Nil).toOption.get
    val both = PageUrl.of(twice, "/c", "/c?t=b&t=a&t=c").toOption.get
    assert(both == "/c?t={1}&t={0}&t=c" && PageUrl.open(twice, both) == "/c?t=b&t=a&t=c")
  }

  private def scan(json: String, records: String, skip: Long, pointers: String*): (ScannedPage, String) = {
    val body = Bodies.of(json)
    val scan = PageScan.of(RecordFormat.Json(records), "http://h/c", pointers, nullIsEmpty = true)
    val scanned = scan.read(body, skip)
    (
      scanned,
      scan.blocks(scanned, body).map(block => new String(block.bytes, block.from, block.length, UTF_8)).mkString)
  }

  test("a response is scanned for its records and the values around them, before and after") {
    val json =
      """{"meta":{"next":"a\"b","n":7,"o":{},"z":null,"t":true},"d":{"x":[ {"meta":{"next":1}} , 2,[3]]},"l":[{"h":"u"}],"d":[]}"""
    val (response, bytes) =
      scan(json, "/d/x", 0, "/meta/next", "/meta/n", "/meta/o", "/meta/z", "/meta/t", "/l/0/h", "/no")
    assert(response.records == 3 && bytes == """[ {"meta":{"next":1}} , 2,[3]]""")
    assert(
      response.values == Map(
        "/meta/next" -> Some("a\"b"),
        "/meta/n" -> Some("7"),
        "/meta/o" -> None,
        "/meta/t" -> Some("true"),
        "/l/0/h" -> Some("u")))
    assert(scan("[]", "", 0)._1 == ScannedPage.nothing)
    assert(scan("""{"a/b~":null,"n":1}""", "/a~1b~0", 0, "/n")._1.records == 0)
  }

  test("the records of a page after those already taken are an array") {
    forAll(Gen.listOf(Gen.oneOf("1", "{}", "\"a,b\"", "[1, 2]", "null", "\"ü\"")), Gen.oneOf(",", " , ", "\n,\n")) {
      (records, comma) =>
        val json = s"""{"ü":"é","d":${records.mkString("[ ", comma, " ]")},"n":"x"}"""
        (0 to records.size).foreach { skip =>
          val (response, bytes) = scan(json, "/d", skip.toLong, "/n")
          assert(response.records == records.size && response.values == Map("/n" -> Some("x")))
          if (skip < records.size) {
            val rest = new JsonRecords(Bodies.of(bytes).piece, RecordFormat.Json(""), "http://h/c")
            records.drop(skip).foreach { record =>
              assert(rest.next())
              assert(new String(rest.bytes, UTF_8) == record)
            }
            assert(!rest.next())
            rest.finish()
          }
        }
    }
  }

  test("only the keys of the first and the last record are read") {
    def keys(json: String, pointer: String) =
      PageScan
        .of(RecordFormat.Json("/d"), "http://h/c", key = Some(pointer))
        .read(Bodies.of(json.getBytes(UTF_8)), 0)
        .keys
    assert(
      keys("{\"d\":[ {\"a\":{\"id\":5}}, {} , {\"id\":1,\"a\":{\"x\":[1],\"id\":\"ü\"}}]}", "/a/id").contains(
        (Some("5"), Some("ü"))))
    assert(keys("{\"d\":[{\"id\":7}]}", "/id").contains((Some("7"), Some("7"))))
    assert(keys("{\"d\":[{\"id\":null},[1]]}", "/id").contains((None, None)))
    assert(keys("{\"d\":[]}", "/id").isEmpty)
  }

  test("a response that is incomplete JSON, or without the array, is refused") {
    Seq("", "{", "[1", "[1] x", "[1,]", "{\"d\":[1]").foreach { json =>
      intercept[JsonProcessingException](scan(json, if (json.startsWith("{")) "/d" else "", 0))
    }
    Seq("{}" -> "/d", "[]" -> "/d", "{\"d\":5}" -> "/d", "7" -> "").foreach { case (json, pointer) =>
      assert(intercept[EpochalException](scan(json, pointer, 0)).condition.name == "RECORDS_NOT_FOUND", json)
    }
  }

  test("a repeated page is detected: at once in a short loop, within three rounds in a long one", Slow) {
    def firstRepeated(pages: Iterator[String]): Int = {
      var guard = Option(LoopGuard())
      pages.indexWhere { page =>
        guard = guard.flatMap(_.visit(page))
        guard.isEmpty
      }
    }
    forAll(Gen.choose(0, 50), Gen.choose(1, 50)) { (tail, loop) =>
      val pages =
        (0 until tail).map(i => s"t$i").iterator ++ Iterator.continually((0 until loop).map(i => s"l$i")).flatten
      assert(firstRepeated(pages) == tail + loop)
    }
    val size = LoopGuard.Remembered * 2
    val index = firstRepeated(Iterator.from(0).map(i => s"${i % size}").take(size * 4))
    assert(index >= size && index <= size * 3, index)
    assert(firstRepeated((0 until 100000).iterator.map(i => s"$i")) == -1)
  }
}
