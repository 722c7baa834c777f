package io.epochal.rest.source.record

import java.io.ByteArrayOutputStream
import java.nio.charset.Charset
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.nio.file.Files
import java.util.Locale
import java.util.zip.GZIPOutputStream

import scala.util.Using

import com.github.luben.zstd.ZstdOutputStream
import com.sun.net.httpserver.HttpExchange
import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.apache.spark.sql.types.StructType
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.EpochalException
import io.epochal.rest.http.StubServer
import io.epochal.rest.source.{RestOptions, RestStreams}
import io.epochal.support.SlowTests.slowIf
import io.epochal.testkit.MicroBatch

/** Responses in other charsets, and compressed ones. */
final class EncodedBodiesSuite extends AnyFunSuite with BeforeAndAfterAll {
  import EncodedBodiesSuite._

  private val api = new Api

  override def afterAll(): Unit = api.close()

  private val formats = Map(
    "json" -> """[{"id":1,"name":"Zoë"},{"id":2,"name":"naïve"}]""",
    "ndjson" -> "{\"id\":1,\"name\":\"Zoë\"}\n{\"id\":2,\"name\":\"naïve\"}\n",
    "csv" -> "id,name\n1,Zoë\n2,naïve\n")
  private val expected = Seq(Seq("1", "Zoë"), Seq("2", "naïve"))
  private val corrupt = StructType.fromDDL("id INT, name STRING, _corrupt_record STRING")

  private def rows(schema: StructType, options: (String, String)*): Seq[Seq[String]] = {
    val source = RestStreams.over(api.url, Files.createTempDirectory("rest").resolve("0"), schema, options: _*)
    val start = source.initialOffset()
    val end = MicroBatch.next(source, start, ReadLimit.allAvailable())
    end.toSeq.flatMap(MicroBatch.read(source, schema, start, _)).map(_.map(String.valueOf(_)))
  }

  private def rows(options: (String, String)*): Seq[Seq[String]] =
    rows(StructType.fromDDL("id INT, name STRING"), options: _*)

  private def failure(body: => Any): EpochalException = intercept[EpochalException](body)

  private def responding(bytes: Array[Byte], headers: (String, String)*): Response = Response(200, headers, bytes)

  /** The n-th request gets the n-th response, and all further ones the last. */
  private def respond(responses: Response*): Unit = api.next = responses

  private def gzip(bytes: Array[Byte]): Array[Byte] = {
    val out = new ByteArrayOutputStream
    Using.resource(new GZIPOutputStream(out))(_.write(bytes))
    out.toByteArray
  }

  for ((format, text) <- formats; journal <- Seq("false", "true")) {
    val base = Seq("bodyFormat" -> format, "journal" -> journal, "retry.maxAttempts" -> "2")

    test(s"$format is decoded as its Content-Type or the option says, journal=$journal", slowIf(journal == "true"): _*) {
      Seq("ISO-8859-1", "UTF-16", "windows-1252", "utf-8").foreach { charset =>
        val bytes = text.getBytes(Charset.forName(charset))
        respond(responding(bytes, "Content-Type" -> s"""text/x; CHARSET = "${charset.toLowerCase(Locale.ROOT)}""""))
        assert(rows(base: _*) == expected, charset)
        respond(responding(bytes, "Content-Type" -> "text/x; charset=binary"))
        assert(rows(base :+ ("encoding" -> charset): _*) == expected, charset)
      }
    }

    test(
      s"$format that is not in UTF-8 or in its charset is refused, and so is an unknown charset, journal=$journal",
      slowIf(journal == "true"): _*) {
      def refused(response: Response, more: (String, String)*): String = {
        respond(response)
        val error = failure(rows(base ++ more: _*))
        assert(error.condition.name == "HTTP_BODY_INVALID", error.getMessage)
        error.getMessage
      }
      val latin = text.getBytes(ISO_8859_1)
      val undeclared = refused(responding(latin, "Content-Type" -> "text/x"))
      assert(undeclared.contains("UTF-8") && undeclared.contains("encoding=ISO-8859-1"), undeclared)
      val unknown = refused(responding(latin, "Content-Type" -> "text/x; charset=klingon"))
      assert(unknown.contains("the charset 'klingon'"), unknown)
      val other = refused(responding(text.getBytes(ISO_8859_1), "Content-Type" -> "text/x; charset=EUC-JP"))
      assert(other.contains("it is not in EUC-JP"), other)
    }

    test(
      s"$format that is compressed without saying so is named as that in any mode, journal=$journal",
      slowIf(journal == "true"): _*) {
      Seq("FAILFAST", "PERMISSIVE", "DROPMALFORMED").foreach { mode =>
        respond(responding(gzip(text.getBytes(UTF_8))))
        val schema = if (mode == "PERMISSIVE") corrupt else StructType.fromDDL("id INT, name STRING")
        val error = failure(rows(schema, base :+ ("mode" -> mode): _*))
        assert(error.condition.name == "HTTP_BODY_INVALID" && error.getMessage.contains("compressed by gzip"), error)
      }
    }
  }

  test("a line that is not UTF-8 is a record that does not fit, kept as valid UTF-8 or dropped") {
    Seq("ndjson" -> "{\"id\":1,\"name\":\"Zo\ufffd\"}", "csv" -> "1,Zo\ufffd").foreach { case (format, record) =>
      val text = formats(format)
      val lines = text.replace("naïve", "naive").getBytes(ISO_8859_1)
      respond(responding(lines))
      val kept = rows(corrupt, "bodyFormat" -> format, "mode" -> "PERMISSIVE")
      assert(kept.map(_(2)) == Seq(record, "null") && kept(1).take(2) == Seq("2", "naive"), format)
      assert(rows("bodyFormat" -> format, "mode" -> "DROPMALFORMED") == Seq(Seq("2", "naive")), format)
    }
  }

  test("a CSV header that is not UTF-8 is refused in any mode") {
    respond(responding("id,prénom\n1,a\n".getBytes(ISO_8859_1)))
    val error = failure(rows(corrupt, "bodyFormat" -> "csv", "mode" -> "PERMISSIVE"))
    assert(error.condition.name == "HTTP_BODY_INVALID" && error.getMessage.contains("the header of its CSV"))
  }

  test("a charset is not looked at where a response has no records") {
    respond(
      responding("später".getBytes(ISO_8859_1), "Content-Type" -> "text/plain; charset=klingon").copy(status = 403))
    assert(failure(rows()).condition.name == "HTTP_STATUS")
  }

  test("content codings are read in any case; identity is none") {
    val text = formats("json").getBytes(UTF_8)
    Seq("GZip", "X-GZIP", "x-gzip", " gzip ", "identity, gzip", "gzip,Identity").foreach { coding =>
      respond(responding(gzip(text), "Content-Encoding" -> coding))
      assert(rows() == expected, coding)
    }
    Seq("Identity", "identity", "").foreach { coding =>
      respond(responding(text, "Content-Encoding" -> coding))
      assert(rows() == expected, coding)
    }
    Seq("br", "gzip, gzip", "deflate").foreach { coding =>
      respond(responding(text, "Content-Encoding" -> coding))
      assert(failure(rows()).getMessage.contains(s"it is encoded as '$coding'"), coding)
    }
  }

  private def zstd(bytes: Array[Byte], window: Int = 0): Array[Byte] = {
    val out = new ByteArrayOutputStream
    Using.resource(new ZstdOutputStream(out).setChecksum(true)) { compressed =>
      if (window > 0) compressed.setLong(window): Unit
      compressed.write(bytes)
    }
    out.toByteArray
  }

  test("zstd is read in every format, and so are several frames") {
    formats.foreach { case (format, text) =>
      val bytes = text.getBytes(UTF_8)
      val (front, back) = bytes.splitAt(10)
      Seq(zstd(bytes), zstd(front) ++ zstd(back)).foreach { body =>
        respond(responding(body, "Content-Encoding" -> "Zstd"))
        assert(rows("bodyFormat" -> format) == expected, format)
      }
    }
  }

  test("zstd that is cut is requested again, and zstd that is damaged or needs much memory is refused") {
    val good = zstd(formats("json").getBytes(UTF_8))
    respond(responding(good.dropRight(3), "Content-Encoding" -> "zstd"), responding(good, "Content-Encoding" -> "zstd"))
    assert(rows() == expected)
    val damaged = good.updated(good.length - 6, (good(good.length - 6) ^ 1).toByte)
    Seq(damaged, zstd(formats("json").getBytes(UTF_8), window = 25), formats("json").getBytes(UTF_8)).foreach { body =>
      respond(responding(body, "Content-Encoding" -> "zstd"))
      val error = failure(rows("retry.maxAttempts" -> "2"))
      assert(error.condition.name == "HTTP_BODY_INVALID" && error.getMessage.contains("its zstd cannot be decoded"))
    }
  }

  test("zstd has the limits of gzip: of bytes after decompression, and of bytes that become none") {
    val bomb = zstd(new Array[Byte](50 << 20))
    assert(bomb.length < 100000)
    val empty = zstd(Array.emptyByteArray)
    val frames = Array.fill(200000 / empty.length)(empty).flatten
    Seq(bomb, frames).foreach { body =>
      respond(responding(body, "Content-Encoding" -> "zstd"))
      assert(failure(rows("maxResponseBytes" -> "50k")).condition.name == "HTTP_RESPONSE_TOO_LARGE")
    }
  }

  test("the status of a failure counts, whatever its content coding is") {
    respond(
      responding(Array[Byte](1, 2), "Content-Encoding" -> "br").copy(status = 503),
      responding(formats("json").getBytes(UTF_8)))
    assert(rows() == expected)
  }

  test("an unknown charset is refused as an option") {
    val error = failure(RestOptions.read(Map("url" -> "http://h/c", "encoding" -> "klingon")).fold(throw _, identity))
    assert(error.condition.name == "OPTION_INVALID" && error.getMessage.contains("encoding"))
  }
}

private object EncodedBodiesSuite {
  final case class Response(status: Int, headers: Seq[(String, String)], body: Array[Byte])

  final class Api extends StubServer("/c") {
    @volatile var next: Seq[Response] = Nil

    override protected def serve(exchange: HttpExchange): Unit = {
      val response = next.head
      if (next.sizeIs > 1) next = next.tail
      response.headers.foreach { case (name, value) => exchange.getResponseHeaders.add(name, value) }
      exchange.sendResponseHeaders(response.status, response.body.length.toLong)
      exchange.getResponseBody.write(response.body)
    }
  }
}
