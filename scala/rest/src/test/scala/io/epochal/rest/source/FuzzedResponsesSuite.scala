package io.epochal.rest.source

import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Path}
import java.util.concurrent.atomic.AtomicInteger
import java.util.zip.GZIPOutputStream

import scala.util.{Random, Using}

import org.apache.commons.io.FileUtils
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.rest.http.RawServer
import io.epochal.rest.sink.RestSinkFixture
import io.epochal.support.Fuzz
import io.epochal.support.Fuzz.{changed, one, some}
import io.epochal.testkit.MicroBatch

/** Valid responses with a few changed bytes in heads, chunks, encodings, links, JSON and CSV. Each gives rows or a named
  * error, and no request goes to another server.
  */
final class FuzzedResponsesSuite extends AnyFunSuite with Fuzz with BeforeAndAfterAll {

  @volatile private var response: Int => Array[Byte] = _ => Array.emptyByteArray
  private val number = new AtomicInteger
  private val server = new RawServer()((_, out) => out.write(response(number.getAndIncrement())))
  private val otherServer = new RawServer(awaitHead = false)((_, _) => ())

  override def afterAll(): Unit = Seq(server, otherServer).foreach(_.close())

  private val schema = StructType.fromDDL(
    "id INT, name STRING, price DECIMAL(10,2), at TIMESTAMP, tags ARRAY<STRING>, more STRUCT<a: DOUBLE, b: MAP<STRING, INT>>")
  private val flat = StructType.fromDDL("id INT, name STRING, price DECIMAL(10,2), at TIMESTAMP")

  private def record(id: Int): String =
    s"""{"id":$id,"name":"a \\u00e9 \\"$id\\"","price":1.5e1,"at":"2024-02-29T12:00:00Z","tags":["x",null],"more":{"a":-0.1,"b":{"k":1}}}"""
  private def json(page: Int): String = {
    val next = if (page < 2) s""""c${page + 1}"""" else "null"
    val url = if (page < 2) s""""${server.url}?page=${page + 1}"""" else "null"
    val records = if (page > 2) "" else (0 until 3).map(i => record(page * 3 + i)).mkString(",")
    s"""{"data":[$records],"next":$next,"url":$url,"total":9,"more":${page < 2}}"""
  }
  private def lines(page: Int): String =
    if (page > 2) "" else (0 until 3).map(i => record(page * 3 + i) + "\n").mkString
  private def csv(page: Int): String = (0 until (if (page > 2) 0 else 3))
    .map(i => s"${page * 3 + i},\"a, \"\"b\"\"\n\",1.5,2024-02-29 12:00:00\n")
    .mkString("id,name,price,at\n", "", "")

  private lazy val words: Seq[String] = {
    val other = otherServer.url
    val host = other.stripPrefix("http:").stripSuffix("/c")
    Seq(
      other,
      s"$host/c",
      s"http:$host@127.0.0.1/c",
      s"http://127.0.0.1@${host.drop(2)}/c",
      s"\\\\${host.drop(2)}/c") ++
      Seq(
        s"\r\nLink: <$other>; rel=\"next\"\r\n",
        s"\r\nLocation: $other\r\n",
        s"HTTP/1.1 302 Found\r\nLocation: $other\r\n\r\n") ++
      Seq(
        "\r\n",
        "\r\n\r\n",
        "\n",
        "\r",
        "\u0000",
        ":",
        ";",
        ",",
        "\"",
        "\\",
        "{",
        "[",
        "}",
        "]",
        "<",
        ">",
        "\t",
        " ") ++
      Seq("\r\nContent-Length: -1\r\n", "\r\nContent-Length: 99999999999999999999\r\n", "\r\nContent-Length: 5\r\n") ++
      Seq(
        "\r\nTransfer-Encoding: chunked\r\n",
        "\r\nTransfer-Encoding: gzip, chunked\r\n",
        "\r\nContent-Encoding: gzip\r\n") ++
      Seq(
        "\r\nContent-Encoding: br\r\n",
        "\r\nRetry-After: 99999999999\r\n",
        "\r\nSet-Cookie: a=b\r\n",
        "\r\nETag: \"x\"\r\n") ++
      Seq(
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\n\r\n",
        "HTTP/1.1 429 \r\n\r\n",
        "HTTP/9.9 999 \r\n") ++
      Seq(
        "ffffffffffffffffffff",
        "-1",
        "9e99999999",
        "1e400",
        "-0",
        "1" * 2000,
        "NaN",
        "null",
        "true",
        "1e-999999999") ++
      Seq(
        "[" * 1500,
        "{\"a\":" * 1500,
        "\\ud800",
        "\\u0000",
        "\ufeff",
        "\u2028",
        "\uffff",
        "0001-01-01",
        "+999999-01-01T00:00:00Z")
  }

  private def gzip(bytes: Array[Byte]): Array[Byte] = {
    val packed = new ByteArrayOutputStream
    Using.resource(new GZIPOutputStream(packed))(_.write(bytes))
    packed.toByteArray
  }

  private def chunks(random: Random, bytes: Array[Byte]): Array[Byte] = {
    val size = 1 + random.nextInt(200)
    val all = bytes.grouped(size).map(chunk => s"${chunk.length.toHexString}\r\n".getBytes ++ chunk ++ "\r\n".getBytes)
    all.foldLeft(Array.emptyByteArray)(_ ++ _) ++ "0\r\n\r\n".getBytes
  }

  /** A response with changes in its body, or in the bytes sent. */
  private def respond(random: Random, body: String, headers: Seq[String]): Array[Byte] = {
    val content = changed(random, body.getBytes("UTF-8"), random.nextInt(3), words)
    val (packed, encoding) =
      if (random.nextBoolean()) (content, Nil) else (gzip(content), Seq("Content-Encoding: gzip"))
    val (sent, framing) = random.nextInt(3) match {
      case 0 => (packed, Seq(s"Content-Length: ${packed.length}"))
      case 1 => (chunks(random, packed), Seq("Transfer-Encoding: chunked"))
      case _ => (packed, Nil)
    }
    val head = (Seq("HTTP/1.1 200 OK") ++ headers ++ encoding ++ framing).mkString("", "\r\n", "\r\n\r\n")
    changed(random, head.getBytes(ISO_8859_1) ++ sent, random.nextInt(3), words)
  }

  private def link(page: Int): Seq[String] =
    Seq(s"""Link: <${server.url}?page=${page + 1}>; rel="next"""").filter(_ => page < 2)

  private val soon = Seq(
    "url" -> server.url,
    "timeout" -> "500ms",
    "requestDeadline" -> "2s",
    "retry.maxAttempts" -> "2",
    "retry.maxDelay" -> "1ms",
    "retry.deadline" -> "4s",
    "headers.Authorization" -> Fuzz.Secret
  )

  private val inJson = Seq("records" -> "/data")
  private val counted = Seq("pagination" -> "offset", "pageSize" -> "3")
  private def followed(by: String): Seq[(String, String)] = Seq("pagination" -> by, "maxPages" -> "20")
  private val paginations = Seq(
    inJson -> Seq("endOfList" -> "assumed"),
    inJson -> counted,
    inJson -> (counted ++ Seq("journal" -> "true", "totalCount" -> "/total")),
    inJson -> (counted :+ ("onDrift" -> "restart")),
    inJson -> Seq("pagination" -> "page", "pageSize" -> "3"),
    inJson -> (followed("cursor") :+ ("nextCursor" -> "/next")),
    inJson -> (followed("keyset") :+ ("keyField" -> "/id")),
    inJson -> followed("link"),
    inJson -> (followed("next-url") :+ ("nextUrl" -> "/url")),
    Seq("bodyFormat" -> "ndjson") -> counted,
    Seq("bodyFormat" -> "ndjson") -> followed("link"),
    Seq("bodyFormat" -> "csv") -> counted,
    Seq("bodyFormat" -> "csv") -> followed("link")
  )
  private val modes = Seq("FAILFAST", "PERMISSIVE", "DROPMALFORMED")

  private def read(random: Random, checkpoint: Path): Unit = {
    val (format, pagination) = one(random, paginations)
    val kind = format.toMap.getOrElse("bodyFormat", "json")
    val text: Int => String = kind match {
      case "csv"    => csv
      case "ndjson" => lines
      case _        => json
    }
    val seed = random.nextLong()
    number.set(0)
    response = n => respond(Fuzz.random(seed + n), text(n), link(n))
    val options = soon ++ format ++ pagination :+ ("mode" -> one(random, modes))
    val columns = if (kind == "csv") flat else schema
    val stream = RestStreams.over(server.url, checkpoint, columns, options: _*)
    try {
      val start = stream.initialOffset()
      MicroBatch.next(stream, start, ReadLimit.maxRows(5L + random.nextInt(10))).foreach { end =>
        val again = stream.deserializeOffset(end.json)
        assert(again.json == end.json)
        MicroBatch.read(stream, columns, start, again)
      }
    } finally stream.stop()
  }

  fuzz("rows or a named error come of what is nearly a response, and nothing goes to another server") { random =>
    val directory = Files.createTempDirectory("fuzz")
    try read(random, directory.resolve("0"))
    finally {
      FileUtils.deleteDirectory(directory.toFile)
      assert(otherServer.connections == 0, "a request to another server")
    }
  }

  fuzz("an epoch is sent, or fails by name, after any response") { random =>
    val results = """[{"status":201,"id":1},{"status":"ok","error":{"message":"no"}}]"""
    val seed = random.nextLong()
    number.set(0)
    response = n => respond(Fuzz.random(seed + n), results, Seq("Content-Type: application/json"))
    val ways = Seq("results" -> "", "resultStatus" -> "/status")
    try
      RestSinkFixture.using() { on =>
        val row = InternalRow(1L, UTF8String.fromString("a"))
        val dead = Seq("deadLetterPath" -> on.checkpoint.resolve("dead").toString)
        on.run(soon ++ (if (random.nextBoolean()) ways else Nil) ++ some(random, dead): _*)
          .epoch(0, Seq(row, on.row(2)))
      }
    finally assert(otherServer.connections == 0, "a request to another server")
  }
}
