package io.epochal.ingest.http.body

import java.nio.charset.Charset
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}

import scala.util.Random

import com.fasterxml.jackson.databind.ObjectMapper
import org.scalatest.funsuite.AnyFunSuite

/** Splitting of bodies into records, and refusals of malformed ones. */
final class BodyFormatSuite extends AnyFunSuite {
  private val limits = RecordLimits(1000, 1000)

  private def split(
      format: BodyFormat,
      body: Array[Byte],
      keep: Boolean = false,
      limits: RecordLimits = limits): Seq[String] = {
    // Bytes after the body must be ignored.
    val found = format.split(body ++ "}],\n\"".getBytes(UTF_8), body.length, limits, keep)
    assert(found.ends.lastOption.getOrElse(0) == found.bytes.length)
    (0 +: found.ends.toSeq).zip(found.ends.toSeq).map { case (from, until) =>
      new String(found.bytes, from, until - from, UTF_8)
    }
  }

  private def split(format: BodyFormat, body: String): Seq[String] = split(format, body.getBytes(UTF_8))

  private def refused(format: BodyFormat, body: Array[Byte], limits: RecordLimits = limits): Problem =
    intercept[Problem](split(format, body, limits = limits))

  private def refused(format: BodyFormat, body: String): Problem = refused(format, body.getBytes(UTF_8))

  private def at(refusal: Problem) = (refusal.status, refusal.record, refusal.position)

  test("each line of a text is a record, empty lines included; a final line break ends the last line") {
    assert(split(BodyFormat.Lines(), "a\nb\r\n\nä\n") == Seq("a", "b", "", "ä"))
    assert(split(BodyFormat.Lines(), "a\nb") == Seq("a", "b"))
    assert(split(BodyFormat.Lines(), "\n") == Seq(""))
    assert(split(BodyFormat.Lines(), "").isEmpty)
    assert(split(BodyFormat.Lines(), "\ufeffa\n") == Seq("a"))
  }

  test("a text that is not UTF-8 is refused with line and byte, or kept as it is") {
    val wrong = "ab\ncé\nd".getBytes(ISO_8859_1)
    assert(at(refused(BodyFormat.Lines(), wrong)) == ((400, Some(1), Some(4))))
    assert(split(BodyFormat.Lines(), wrong, keep = true).map(_.take(1)) == Seq("a", "c", "d"))
    Seq(Array(0xed, 0xa0, 0x80), Array(0xf5, 0x80, 0x80, 0x80), Array(0xc0, 0xaf), Array(0xe2, 0x82), Array(0x80))
      .foreach(bytes => assert(refused(BodyFormat.Lines(), bytes.map(_.toByte)).status == 400))
    assert(split(BodyFormat.Lines(), "€𝄞 and 1234567 plain ones €\n") == Seq("€𝄞 and 1234567 plain ones €"))
  }

  test("each line of NDJSON that is not blank is a record, as its bytes were sent") {
    assert(
      split(BodyFormat.Ndjson, "{\"a\": 1}\n\n  [2]\r\n\"x\" \nnull") == Seq("{\"a\": 1}", "[2]", "\"x\" ", "null"))
    assert(split(BodyFormat.Ndjson, "  \n\t\n").isEmpty)
  }

  test("a malformed line of NDJSON is refused with its position, or kept as it is") {
    val body = "{\"a\":1}\n{\"a\":\n{\"b\":2}\n"
    val refusal = refused(BodyFormat.Ndjson, body)
    assert(refusal.status == 400 && refusal.record.contains(1) && refusal.position.exists(p => p >= 8 && p <= 14))
    assert(refused(BodyFormat.Ndjson, "1 2").position.contains(2))
    assert(split(BodyFormat.Ndjson, body.getBytes(UTF_8), keep = true) == Seq("{\"a\":1}", "{\"a\":", "{\"b\":2}"))
  }

  test("each element of a JSON array is a record, any other value is one") {
    assert(
      split(BodyFormat.Json, " [ {\"a\":[1,{}]} , 2,\"x\\u0041,]\" ,null,[]] ") ==
        Seq("{\"a\":[1,{}]}", "2", "\"x\\u0041,]\"", "null", "[]"))
    assert(split(BodyFormat.Json, "[]").isEmpty)
    assert(split(BodyFormat.Json, " {\"a\":\n1} ") == Seq("{\"a\":\n1}"))
    assert(split(BodyFormat.Json, "\ufeff42") == Seq("42"))
  }

  test("a body that is not JSON is refused with the record and the byte, or kept as one record") {
    assert(at(refused(BodyFormat.Json, "[{},{\"a\" 1}]")) == ((400, Some(1), Some(9))))
    assert(at(refused(BodyFormat.Json, "[1 2]")) == ((400, Some(0), Some(3))))
    assert(at(refused(BodyFormat.Json, "{} {}")) == ((400, None, Some(3))))
    Seq("", " ", "[", "[1", "[1,", "[1,]", "{\"a\":1", "tru", "\"\u0001\"", "[}").foreach { body =>
      assert(refused(BodyFormat.Json, body).status == 400, body)
      assert(split(BodyFormat.Json, body.getBytes(UTF_8), keep = true) == Seq(body))
    }
  }

  test("deep JSON is split by its bytes; more than a thousand levels are refused") {
    def nested(depth: Int) = "[" * depth + "]" * depth
    assert(split(BodyFormat.Json, s"[${nested(100)},{\"a\":${nested(400)}}]").map(_.length) == Seq(200, 806))
    assert(refused(BodyFormat.Json, s"[${nested(300000)}]".getBytes(UTF_8), RecordLimits(1 << 20, 10)).status == 400)
  }

  test("random arrays are split as Jackson reads them") {
    val mapper = new ObjectMapper
    val random = new Random(7)
    def value(depth: Int): String = random.nextInt(if (depth > 3) 5 else 7) match {
      case 0 => random.nextInt().toString
      case 1 => "true"
      case 2 => s"${random.nextGaussian()}"
      case 3 => mapper.writeValueAsString(random.nextString(random.nextInt(10)).filterNot(Character.isSurrogate))
      case 4 => "null"
      case 5 => Seq.fill(random.nextInt(4))(value(depth + 1)).mkString("[ ", " ,", "]")
      case _ => (0 until random.nextInt(4)).map(i => s"\"k$i\" : ${value(depth + 1)}").mkString("{", ",\n", "}")
    }
    (1 to 500).foreach { _ =>
      val body = Seq.fill(random.nextInt(6))(value(0)).mkString("[", " , ", "\n]")
      val expected = mapper.readTree(body)
      val found = split(BodyFormat.Json, body).map(mapper.readTree)
      assert(
        found.size == expected.size && found.zipWithIndex.forall { case (record, i) => record == expected.get(i) },
        body)
    }
  }

  test("a form is one record: an object of its fields, or the JSON in its only field payload") {
    assert(
      split(BodyFormat.Form(), "a=1&b=x+y%21&a=2&c&%C3%A4=%22") ==
        Seq("{\"a\":[\"1\",\"2\"],\"b\":\"x y!\",\"c\":\"\",\"ä\":\"\\\"\"}"))
    assert(split(BodyFormat.Form(), "payload=%7B%22a%22%3A+1%7D") == Seq("{\"a\": 1}"))
    assert(split(BodyFormat.Form(), "payload=text") == Seq("{\"payload\":\"text\"}"))
    assert(split(BodyFormat.Form(), "payload=%7B%7D&x=1") == Seq("{\"payload\":\"{}\",\"x\":\"1\"}"))
    Seq("", "&", "a=%", "a=%2", "a=%zz", "a=%ff").foreach(body =>
      assert(refused(BodyFormat.Form(), body).status == 400, body))
    assert(refused(BodyFormat.Form(), (0 to 1000).map(i => s"f$i=").mkString("&")).status == 413)
  }

  test("a record that is too large, or one too many, is refused with its index, even with malformed=keep") {
    val small = RecordLimits(4, 2)
    Seq[(BodyFormat, String)](
      BodyFormat.Lines() -> "abcd\nabcde\n",
      BodyFormat.Ndjson -> "1234\n12345\n",
      BodyFormat.Json -> "[123,12345]").foreach { case (format, body) =>
      val refusal = refused(format, body.getBytes(UTF_8), small)
      assert(refusal.status == 413 && refusal.record.contains(1) && refusal.position.contains(5), s"$format: $refusal")
      intercept[Problem](split(format, body.getBytes(UTF_8), keep = true, small))
    }
    assert(at(refused(BodyFormat.Json, "[1,2,3]".getBytes(UTF_8), small)) == ((413, Some(2), Some(5))))
  }

  test("fields of a form are decoded from its charset") {
    val latin = BodyFormat.Form(ISO_8859_1)
    assert(split(latin, "a=%E9&b=x") == Seq("{\"a\":\"é\",\"b\":\"x\"}"))
    assert(split(latin, "a=é".getBytes(ISO_8859_1)) == Seq("{\"a\":\"é\"}"))
    assert(split(latin, "payload=%7B%22a%22%3A%22%E9%22%7D") == Seq("{\"a\":\"é\"}"))
    assert(refused(BodyFormat.Form(Charset.forName("EUC-JP")), "a=%FF%41").error == "a field is not in EUC-JP")
  }

  test("a text that is one JSON document is that document where records are JSON, else each line is a record") {
    assert(split(BodyFormat.JsonText, "{\n  \"a\": [\n    1\n  ]\n}\n") == Seq("{\n  \"a\": [\n    1\n  ]\n}"))
    assert(split(BodyFormat.JsonText, "[\n{\"a\":1},\n{\"a\":2}\n]") == Seq("{\"a\":1}", "{\"a\":2}"))
    assert(split(BodyFormat.JsonText, "{\"a\":1}\n\n{\"a\":2}\r\nx\n") == Seq("{\"a\":1}", "{\"a\":2}", "x"))
    assert(split(BodyFormat.JsonText, "\ufeff{\"a\":1}\n") == Seq("{\"a\":1}"))
    assert(split(BodyFormat.JsonText, "").isEmpty)
  }

  test("a body without any JSON object is refused where records are JSON, or kept") {
    Seq[(BodyFormat, String)](
      BodyFormat.JsonText -> "{\n\"a\": 1,\n",
      BodyFormat.JsonText -> "1\n[2]\n{x}",
      BodyFormat.Ndjson -> "1\n[{}]",
      BodyFormat.Json -> "[1,\"x\",[{}]]",
      BodyFormat.Json -> "null",
      BodyFormat.Form() -> "payload=[]").foreach { case (format, body) =>
      val refusal = refused(BodyFormat.Objects(format), body)
      assert(refusal.status == 400 && refusal.error == "none of its records is a JSON object", body)
      assert(split(BodyFormat.Objects(format), body.getBytes(UTF_8), keep = true).nonEmpty, body)
    }
    assert(split(BodyFormat.Objects(BodyFormat.JsonText), "x\n{\"a\":1}\n") == Seq("x", "{\"a\":1}"))
    assert(split(BodyFormat.Objects(BodyFormat.Json), "[]").isEmpty)
  }

  test("the content type selects the format, unless the option does") {
    val known = Map(
      "text/plain" -> BodyFormat.Lines(),
      "Text/Plain; charset=\"UTF-8\"" -> BodyFormat.Lines(),
      "application/x-ndjson" -> BodyFormat.Ndjson,
      "application/json;charset=utf-8" -> BodyFormat.Json,
      "application/cloudevents-batch+json" -> BodyFormat.Json,
      "application/x-www-form-urlencoded" -> BodyFormat.Form()
    )
    known.foreach { case (name, format) => assert(BodyFormat.of(Some(name), "text").contains(format), name) }
    Seq(None, Some(""), Some("text/html"), Some("application/xml"), Some("text/csv"))
      .foreach(name => assert(BodyFormat.of(name, "text").isEmpty, name))
    assert(BodyFormat.of(Some("text/plain"), "json").contains(BodyFormat.Objects(BodyFormat.JsonText)))
    Seq("text/plain", "text/csv; header=absent").foreach(name =>
      assert(BodyFormat.of(Some(name), "csv").contains(BodyFormat.Lines(blanks = false)), name))
    assert(BodyFormat.of(Some("application/json"), "csv").isEmpty)
    Seq(None, Some("image/png"), Some("text/plain")).foreach { sent =>
      assert(BodyFormat.of(sent, "text", Some("json")).contains(BodyFormat.Json))
      assert(BodyFormat.of(sent, "text", Some("ndjson")).contains(BodyFormat.Ndjson))
      assert(BodyFormat.of(sent, "text", Some("form"), Some(ISO_8859_1)).contains(BodyFormat.Form(ISO_8859_1)))
      assert(BodyFormat.of(sent, "json", Some("lines")).contains(BodyFormat.Objects(BodyFormat.Lines(blanks = false))))
    }
  }
}
