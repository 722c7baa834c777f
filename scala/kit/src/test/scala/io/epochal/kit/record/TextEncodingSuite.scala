package io.epochal.kit.record

import java.io.{ByteArrayInputStream, InputStream}
import java.nio.charset.Charset
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** Text in other charsets, which records are read from as UTF-8. */
final class TextEncodingSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private def utf8(bytes: Array[Byte], charset: Option[String], limit: Long = 1 << 20): String =
    new String(
      TextEncoding.utf8(new ByteArrayInputStream(bytes), charset.flatMap(TextEncoding.named), limit).readAllBytes(),
      UTF_8)

  private def problem(bytes: Array[Byte], charset: Option[String], limit: Long = 1 << 20): String =
    intercept[BodyProblem](utf8(bytes, charset, limit)).getMessage

  /** At most `size` bytes at a time. */
  private def slow(bytes: Array[Byte], size: Int): InputStream = new ByteArrayInputStream(bytes) {
    override def read(into: Array[Byte], offset: Int, count: Int): Int =
      super.read(into, offset, math.min(count, math.max(1, size)))
  }

  test("the charset of a Content-Type is found in any spelling") {
    Seq(
      "text/csv; charset=ISO-8859-1" -> Some("ISO-8859-1"),
      "text/csv;header=present;CharSet = \"iso-8859-1\" ; x=y" -> Some("iso-8859-1"),
      "text/csv; charset='latin1'" -> Some("latin1"),
      "text/csv; note=\"a;charset=x\"; charset=utf-8" -> Some("utf-8"),
      "text/csv; charset=\"a;b\"" -> Some("a b"),
      "text/csv" -> None,
      "text/csv; charset=" -> None,
      "charset=latin1" -> None,
      "" -> None
    ).foreach { case (header, charset) => assert(TextEncoding.declared(header) == charset, header) }
    Seq("latin1", "LATIN1", "windows-1252", "shift_jis", "utf8").foreach(name =>
      assert(TextEncoding.named(name).nonEmpty, name))
    Seq("no-such", "a b", "x" * 9999, "\u0000").foreach(name => assert(TextEncoding.named(name).isEmpty, name))
  }

  test("text in any charset becomes UTF-8, in pieces of any size") {
    val texts = Map(
      "ISO-8859-1" -> "naïve, façade\n",
      "windows-1252" -> "“€” – ž\n",
      "Shift_JIS" -> "表計算,ｶﾅ\n",
      "ISO-2022-JP" -> "漢字 and ASCII\n",
      "GB18030" -> "汉字 𠀀 😀\n",
      "EUC-KR" -> "한국어\n",
      "KOI8-R" -> "Привет\n",
      "UTF-16" -> "a😀ä\n",
      "UTF-16LE" -> "a😀ä\n",
      "UTF-32BE" -> "a😀ä\n")
    forAll(Gen.oneOf(texts.toSeq), Gen.choose(1, 9), Gen.choose(1, 9), Gen.oneOf(1, 7, 300, 2000)) {
      case ((charset, text), in, out, times) =>
        val whole = text * math.max(1, times)
        val body = new Body(inMemory = 500, partBytes = 100)
        val bytes = whole.getBytes(Charset.forName(charset))
        assert(body.readText(slow(bytes, in), Body.MaxBytes / 4, TextEncoding.named(charset)))
        val found = body.file.fold(body.piece.stream(0, body.length))(_.stream(0, body.length)).readAllBytes()
        body.close()
        assert(new String(found, UTF_8) == whole, charset)
        val stream = TextEncoding.utf8(slow(bytes, in), TextEncoding.named(charset), Long.MaxValue)
        assert(
          new String(
            Iterator.continually(stream.readNBytes(math.max(1, out))).takeWhile(_.nonEmpty).flatten.toArray,
            UTF_8) == whole)
    }
  }

  test("UTF-8 and ASCII pass as they are, whether valid or not") {
    val bytes = Array[Byte](-1, 0x41, -23, 0x42, 0x43)
    Seq(None, Some("UTF-8"), Some("us-ascii")).foreach { charset =>
      val found = TextEncoding.utf8(new ByteArrayInputStream(bytes), charset.flatMap(TextEncoding.named), 1 << 20)
      assert(found.readAllBytes().sameElements(bytes))
    }
    assert(utf8(Array.emptyByteArray, Some("ISO-8859-1")).isEmpty)
  }

  test("a byte order mark overrides the declared charset") {
    val text = "\ufeffid;näme\n"
    Seq("UTF-8", "UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE").foreach { charset =>
      Seq(None, Some("ISO-8859-1"), Some("UTF-8")).foreach { declared =>
        assert(utf8(text.getBytes(Charset.forName(charset)), declared).stripPrefix("\ufeff") == text.drop(1), charset)
      }
    }
  }

  test("UTF-16 without a byte order mark is read in the order that its first character shows, else little-endian") {
    for (charset <- Seq("UTF-16LE", "UTF-16BE", "UTF-16"))
      assert(utf8("aé€".getBytes(Charset.forName(charset)), Some("utf-16")) == "aé€", charset)
    assert(utf8("€a".getBytes(Charset.forName("UTF-16LE")), Some("UTF-16")) == "€a")
  }

  test("bytes that are not in the charset are an error that names it") {
    assert(problem("é!".getBytes(ISO_8859_1), Some("Shift_JIS")) == "it is not in Shift_JIS")
    assert(problem(Array[Byte](0x41, 0, 0x42), Some("UTF-16LE")) == "it is not in UTF-16LE")
    assert(problem(Array[Byte](-127), Some("windows-1252")) == "it is not in windows-1252")
  }

  test("text that decodes to nothing is limited, too") {
    val escapes = "\u001b(B" * 100000
    assert(
      problem(escapes.getBytes(ISO_8859_1), Some("ISO-2022-JP"), limit = 100000).contains("more than 100000 bytes"))
  }

  test("decoded text is limited by its size in UTF-8") {
    val bytes = ("ä" * 100).getBytes(ISO_8859_1)
    def fits(limit: Int) = new Body().readText(new ByteArrayInputStream(bytes), limit.toLong, Some(ISO_8859_1))
    assert(fits(200) && !fits(199))
  }

  test("gzip is named as that") {
    assert(problem(Array[Byte](0x1f, -117, 8, 0), None).contains("compressed by gzip"))
    assert(problem(Array[Byte](0x1f, -117), Some("ISO-8859-1")).contains("compressed by gzip"))
  }
}
