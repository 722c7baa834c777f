package io.epochal.ingest.http

import java.io.ByteArrayOutputStream
import java.nio.charset.Charset
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.util.zip.GZIPOutputStream

import scala.util.Using

import org.scalatest.funsuite.AnyFunSuite

/** Bodies in other charsets and formats than expected, and compressed ones. */
final class HttpBodiesSuite extends AnyFunSuite {
  import ListenerFixture.listening

  private def gzip(text: String): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    Using.resource(new GZIPOutputStream(bytes))(_.write(text.getBytes(UTF_8)))
    bytes.toByteArray
  }

  private def post(fixture: ListenerFixture, body: Array[Byte], headers: (String, String)*): RawResponse =
    fixture.askBytes("POST", "/", body, headers: _*)

  private val texts = Seq(
    "text/plain" -> "Zoë",
    "application/x-ndjson" -> "{\"name\":\"Zoë\"}",
    "application/json" -> "{\"name\":\"Zoë\"}")

  test("a body is decoded from the charset that its Content-Type declares, compressed or not") {
    for ((kind, text) <- texts; charset <- Seq("ISO-8859-1", "windows-1252", "UTF-16", "utf-8"))
      listening() { fixture =>
        val bytes = text.getBytes(Charset.forName(charset))
        assert(post(fixture, bytes, "Content-Type" -> s"""$kind; Charset="$charset"""").status == 200)
        val packed = new ByteArrayOutputStream
        Using.resource(new GZIPOutputStream(packed))(_.write(bytes))
        assert(
          post(
            fixture,
            packed.toByteArray,
            "Content-Type" -> s"$kind;charset=$charset",
            "Content-Encoding" -> "X-GZip").status == 200)
        assert(fixture.intake.records == Seq(text, text), s"$kind $charset")
      }
    listening() { fixture =>
      val form = Seq("Content-Type" -> "application/x-www-form-urlencoded; charset=latin1")
      assert(post(fixture, "name=Zo%EB".getBytes(UTF_8), form: _*).status == 200)
      assert(fixture.intake.records == Seq("{\"name\":\"Zoë\"}"))
    }
  }

  test("a body that is not in UTF-8 or its charset is refused, and an unknown charset is named") {
    listening() { fixture =>
      texts.foreach { case (kind, text) =>
        assert(post(fixture, text.getBytes(ISO_8859_1), "Content-Type" -> kind).status == 400, kind)
        val wrong = post(fixture, text.getBytes(ISO_8859_1), "Content-Type" -> s"$kind; charset=EUC-JP")
        assert(wrong.status == 400 && wrong.body.contains("it is not in EUC-JP"), wrong)
        val unknown = post(fixture, text.getBytes(UTF_8), "Content-Type" -> s"$kind; charset=klingon")
        assert(unknown.status == 415 && unknown.body.contains("the charset 'klingon' is not known"), unknown)
      }
      assert(fixture.intake.records.isEmpty)
    }
  }

  test("with malformed=keep a body that is not in its charset is kept as it is") {
    listening("malformed" -> "keep") { fixture =>
      texts.foreach { case (kind, text) =>
        val wrong = post(fixture, text.getBytes(ISO_8859_1), "Content-Type" -> s"$kind; charset=EUC-JP")
        assert(wrong.status == 200 && wrong.body == "{\"records\":1}", wrong)
      }
      assert(fixture.intake.records == texts.map(_._2.replace('ë', '\ufffd')))
    }
  }

  test("decoded text is limited, and its memory is released") {
    listening("maxRequestBytes" -> "150", "maxBufferedBytes" -> "100k") { fixture =>
      val latin = Seq("Content-Type" -> "text/plain; charset=ISO-8859-1")
      (1 to 30).foreach { _ =>
        assert(post(fixture, ("ë" * 100).getBytes(ISO_8859_1), latin: _*).status == 413)
        assert(post(fixture, ("ë" * 70).getBytes(ISO_8859_1), latin: _*).status == 200)
      }
    }
  }

  test("content codings are read in any case, and a body that is compressed without one is named as that") {
    listening() { fixture =>
      val text = Seq("Content-Type" -> "text/plain")
      Seq("GZIP", "x-gzip", "gzip, identity").foreach(coding =>
        assert(post(fixture, gzip("a"), text :+ ("Content-Encoding" -> coding): _*).status == 200, coding))
      assert(post(fixture, "a".getBytes(UTF_8), text :+ ("Content-Encoding" -> "Identity"): _*).status == 200)
      Seq("br", "gzip, gzip").foreach(coding =>
        assert(post(fixture, gzip("a"), text :+ ("Content-Encoding" -> coding): _*).status == 415, coding))
      assert(fixture.intake.records == Seq.fill(4)("a"))
    }
    for (malformed <- Seq("refuse", "keep"); kind <- texts.map(_._1) :+ "application/x-www-form-urlencoded")
      listening("malformed" -> malformed) { fixture =>
        val refused = post(fixture, gzip("{}"), "Content-Type" -> kind)
        assert(refused.status == 400 && refused.body.contains("compressed by gzip"), s"$kind: $refused")
      }
  }

  private val sns = "{\n  \"Type\" : \"Notification\",\n  \"Message\" : \"{}\"\n}\n"

  test("under format=json a text that is one JSON document is one record, and one without any object is refused") {
    listening("format" -> "json") { fixture =>
      val plain = "Content-Type" -> "text/plain; charset=UTF-8"
      assert(fixture.post(sns, plain).body == """{"records":1}""")
      assert(fixture.intake.records == Seq(sns.trim))
      assert(fixture.post("{\"a\":1}\n{\"a\":2}\n", plain).body == """{"records":2}""")
      Seq(sns.dropRight(3), "hello\n", "1\n2\n").foreach { body =>
        val refused = fixture.post(body, plain)
        assert(refused.status == 400 && refused.body.contains("none of its records is a JSON object"), refused)
      }
      assert(fixture.post("[1]", "Content-Type" -> "application/json").status == 400)
    }
    listening("format" -> "json", "malformed" -> "keep")(fixture => assert(fixture.post("hello\n").status == 200))
    listening()(fixture => assert(fixture.post(sns).body == """{"records":4}"""))
  }

  test("bodyFormat reads bodies whatever their type") {
    listening("bodyFormat" -> "json") { fixture =>
      Seq("text/plain", "image/png", "").foreach(kind =>
        assert(fixture.post(sns, "Content-Type" -> kind).status == 200, kind))
      assert(fixture.ask("POST", "/", sns).status == 200)
      assert(fixture.intake.records == Seq.fill(4)(sns.trim))
    }
    listening("format" -> "csv") { fixture =>
      assert(fixture.post("1,a\n\n2,b\n", "Content-Type" -> "text/csv").body == """{"records":2}""")
      assert(fixture.post("{}", "Content-Type" -> "application/json").status == 415)
    }
    val refusal = ListenerFixture.refusal("format" -> "csv", "bodyFormat" -> "json")
    assert(refusal.condition.name == "OPTION_CONFLICT" && refusal.getMessage.contains("Leave bodyFormat out"))
  }
}
