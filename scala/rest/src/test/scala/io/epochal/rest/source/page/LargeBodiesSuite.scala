package io.epochal.rest.source.page

import java.io.ByteArrayInputStream
import java.nio.channels.FileChannel
import java.nio.charset.StandardCharsets.{UTF_16LE, UTF_8}
import java.nio.file.StandardOpenOption.WRITE
import java.nio.file.{Files, Paths}

import scala.util.{Try, Using}

import com.fasterxml.jackson.core.JsonProcessingException
import org.apache.spark.sql.types.StructType
import org.scalacheck.{Gen, Shrink}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.core.error.EpochalException
import io.epochal.kit.record._
import io.epochal.rest.http.Bodies
import io.epochal.rest.source._

/** Responses in a file are read like those in memory. */
final class LargeBodiesSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val place = "http://h/c"
  private val ddl = "id INT, name STRING"

  implicit private def unshrunk[A]: Shrink[A] = Shrink.shrinkAny

  private val json = Gen.oneOf(
    """{"id":1,"name":"a"}""",
    """{"id":22,"name":"b] ,[\"ü\\"}""",
    """{ "name" : { "x" : [1, "]"] } , "id" : 3 }""",
    """{"id":"no"}""",
    "{}",
    "7",
    "null",
    "[[1],{}]",
    "\"text, ]\"",
    s"""{"id":4,"name":"${"long " * 30}"}"""
  )
  private val space = Gen.oneOf("", " ", "\r\n", "   \t ")
  private val responses = for {
    records <- Gen.listOf(json)
    gap <- space
    front <- Gen.oneOf("", """"n":{"data":[1],"t":"x"},""", """"d":[2,3],""")
    behind <- Gen.oneOf("", ""","n":{"t":null}""", ""","n":{"t":"ü\n"},"z":[{}]""")
    mark <- Gen.oneOf("", "\uFEFF")
  } yield (s"""$mark{$front"data":$gap${records.mkString("[", s"$gap,$gap", s"$gap]")}$behind}""", records.size)

  private val ndjson = for {
    lines <- Gen.nonEmptyListOf(Gen.oneOf(json.map(_.replaceAll("[\r\n]", " ")), Gen.oneOf("", "  ", "nonsense")))
    break <- Gen.oneOf("\n", "\r\n")
    end <- Gen.oneOf("", "\n", """{"id":""")
  } yield (lines.mkString("", break, break) + end).dropWhile(_ <= ' ')

  private val csv = for {
    lines <- Gen.nonEmptyListOf(
      Gen.oneOf(
        "1,a",
        "2,\"b, \"\"c\"\"\"",
        "3,\"d\nid,name\r\ne\"",
        "\"4\"",
        "",
        "x,y,z",
        "5,\"\"",
        "6,\uFEFF",
        "\uFEFF7,f"))
    break <- Gen.oneOf("\n", "\r\n", "\r")
    mark <- Gen.oneOf("", "\uFEFF")
    header <- Gen.oneOf("id,name", "name,\"id\"")
    end <- Gen.oneOf("", "8,\"open")
  } yield (mark, header, break, lines.mkString(break) + break + end)

  /** The outcome of a response: the values and bytes of each record, or its error; Left if the whole response fails. */
  private def read(format: RecordFormat, body: Body): Either[String, Seq[(String, String)]] =
    rows(format)(format.open(body, place))

  /** The same for a body that is not validated first. */
  private def rowsOf(format: RecordFormat)(body: Piece): Either[String, Seq[(String, String)]] =
    rows(format)(format.read(body, place))

  private def rows(format: RecordFormat)(open: => Records): Either[String, Seq[(String, String)]] = {
    val columns = new RecordColumns(
      RecordReading(StructType.fromDDL(ddl), "UTC"),
      RecordRules(format, RecordMode.Permissive("bad"), None, Nil))
    Try {
      val records = open
      val found = Vector.newBuilder[(String, String)]
      while (records.next()) {
        val row =
          try records.row(columns).toSeq(StructType.fromDDL(ddl)).map(String.valueOf(_)).mkString("|")
          catch {
            case error: EpochalException        => throw error
            case error: JsonProcessingException => if (format.name == "CSV") throw error else examined(records, columns)
            case _: Exception                   => examined(records, columns)
          }
        found += row -> new String(records.bytes, UTF_8)
      }
      records.finish()
      found.result()
    }.toEither.left.map {
      case error: EpochalException    => error.getMessage
      case _: JsonProcessingException => "faulty"
      case error                      => throw error
    }
  }

  private def examined(records: Records, columns: RecordColumns): String =
    records.examine(columns).reason.getOrElse("?")

  private def alike(format: RecordFormat, text: String): Unit = {
    val bytes = text.getBytes(UTF_8)
    val small = Bodies.of(bytes)
    Seq(1, 7, 64, 100000).foreach { partBytes =>
      Using.resource(Bodies.large(bytes, inMemory = 3, partBytes)) { large =>
        assert(large.file.nonEmpty == bytes.length > 3 && large.length == bytes.length)
        assert(read(format, large) == read(format, small), text)
        assert(Try(format.count(large, place)).toOption == Try(format.count(small, place)).toOption, text)
      }
    }
  }

  test("JSON: the same rows and bytes, wherever the parts are cut") {
    forAll(responses) { case (text, _) => alike(RecordFormat.Json("/data"), text) }
  }

  test("NDJSON: the same rows, bytes and errors, wherever the pieces are cut") {
    forAll(ndjson, Gen.oneOf(true, false))((text, tolerant) => alike(RecordFormat.Ndjson(tolerant), text))
  }

  test("CSV: the same rows and bytes, wherever the pieces are cut, with and without a header", Slow) {
    forAll(csv) { case (mark, header, break, lines) =>
      alike(RecordFormat.Csv(header = true, ',', Some("x")), s"$mark$header$break$lines")
      alike(RecordFormat.Csv(header = false, ',', None), s"$mark$lines")
    }
  }

  private def blocks(scan: PageScan, scanned: ScannedPage, body: Body): Seq[(Int, String)] =
    scan
      .blocks(scanned, body)
      .map(block => block.records -> new String(block.bytes, block.from, block.length, UTF_8))
      .toVector

  test("lines are cut off the front, and the others are complete after a journal's page header", Slow) {
    def alike(format: RecordFormat.OfLines, text: String, skip: Int): Unit = {
      val bytes = text.getBytes(UTF_8)
      val scan = PageScan.of(format, place)
      val all = read(format.ofBlocks, Bodies.of(bytes))
      Seq(1, 9, 50, 100000).foreach { partBytes =>
        Using.resource(Bodies.large(bytes, inMemory = 3, partBytes)) { body =>
          Try(scan.read(body, skip.toLong)).fold(
            error => assert(error.isInstanceOf[JsonProcessingException] && Try(format.count(body, place)).isFailure),
            scanned => {
              val found = blocks(scan, scanned, body).flatMap { case (records, block) =>
                val page = Bodies.of(new String(PageFront(Some("x"), None).bytes, UTF_8) + block)
                assert(PageFront.extract(page) == PageFront(Some("x"), None))
                val rows = rowsOf(format.ofBlocks)(page.piece).fold(fail(_), identity)
                assert(rows.size == records, block)
                rows
              }
              assert(all.map(_.drop(skip)) == Right(found) && all.map(_.size) == Right(scanned.records), text)
            }
          )
        }
      }
    }
    forAll(ndjson, Gen.oneOf(true, false), Gen.choose(0, 5)) { (text, tolerant, skip) =>
      alike(RecordFormat.Ndjson(tolerant), text, skip)
    }
    forAll(csv, Gen.choose(0, 5)) { case ((mark, header, break, lines), skip) =>
      alike(RecordFormat.Csv(header = true, ',', Some("x")), s"$mark$header$break$lines", skip)
      alike(RecordFormat.Csv(header = false, ',', None), s"$mark$lines", skip)
    }
  }

  test("a scan finds the same records, values and keys, and cuts the same records off the front") {
    forAll(responses, Gen.choose(0L, 8L)) { case ((text, records), skip) =>
      val bytes = text.getBytes(UTF_8)
      def scan(body: Body) = {
        val scan = PageScan.of(RecordFormat.Json("/data"), place, Seq("/n/t", "/n", "/z/0", "/d/1"), Some("/id"))
        val scanned = scan.read(body, skip)
        (scanned.records, scanned.values, scanned.keys, blocks(scan, scanned, body))
      }
      val (count, values, keys, whole) = scan(Bodies.of(bytes))
      assert(count == records && whole.map(_._1).sum == math.max(0, records - skip))
      Seq(1, 20, 100000).foreach { partBytes =>
        Using.resource(Bodies.large(bytes, inMemory = 3, partBytes)) { large =>
          val (countThere, valuesThere, keysThere, parts) = scan(large)
          assert((countThere, valuesThere, keysThere) == ((count, values, keys)), text)
          assert(parts.map(_._1).sum == whole.map(_._1).sum)
          def elements(arrays: Seq[(Int, String)]) = arrays.flatMap { case (records, array) =>
            val found = read(RecordFormat.Json(""), Bodies.of(array)).fold(fail(_), identity)
            assert(found.size == records)
            found
          }
          assert(elements(parts) == elements(whole), text)
          if (partBytes == 1) assert(parts.forall(_._1 == 1))
        }
      }
    }
  }

  test("a response that breaks off at any byte, or lacks the array, fails the same way") {
    val text = """{"n":[1,{"x":"}"}],"data":[{"id":1},{"id":2,"name":"ü"}],"t":null}"""
    (4 until text.length - 1).foreach(length => alike(RecordFormat.Json("/data"), text.take(length)))
    Seq("/no", "/n/1", "/t", "/data/0").foreach(pointer => alike(RecordFormat.Json(pointer), text))
    Seq("<html></html>", "[{},{}]", "{\"id\":1}\n[2]\n").foreach(alike(RecordFormat.Ndjson(tolerant = false), _))
    Seq("<html></html>", "id,name\n<1,2\n").foreach(alike(RecordFormat.Csv(header = true, ',', None), _))
    val empty = """{"data": null, "t": "x"}""".getBytes(UTF_8)
    Using.resource(Bodies.large(empty, 3, 10)) { large =>
      val response = PageScan.of(RecordFormat.Json("/data"), place, Seq("/t"), nullIsEmpty = true).read(large)
      assert(response.records == 0 && response.values == Map("/t" -> Some("x")))
    }
  }

  test("a response in another charset that is too large for memory is read like others") {
    val records = (0 until 100).map(i => s"""{"id":$i,"name":"ä€"}""").mkString("[", ",", "]")
    Using.resource(Bodies.large(records.getBytes(UTF_16LE), 3, 10)) { large =>
      assert(RecordFormat.Json("").count(large, place) == 100 && large.length == records.getBytes(UTF_8).length)
    }
  }

  test("a large response is in memory one part at a time, and its buffer grows no further", Slow) {
    val records = (0 until 200000).map(i => s"""{"id":$i,"name":"${"x" * 100}"}""")
    val bytes = records.mkString("[", ",", "]").getBytes(UTF_8)
    val page = Body.ofPage()
    assert(page.readFrom(new ByteArrayInputStream(bytes), Body.MaxBytes) && bytes.length > (20 << 20))
    assert(page.bytes.length <= (8 << 20) + 1)
    val scan = PageScan.of(RecordFormat.Json(""), place)
    val sizes = scan.blocks(scan.read(page), page).map(_.length).toVector
    assert(sizes.size > 20 && sizes.forall(_ < (1 << 20) + 200))
    assert(RecordFormat.Json("").count(page, place) == records.size)
    assert(Bodies.openFiles().nonEmpty)
    page.close()
    assert(Bodies.openFiles().isEmpty && page.length == 0)
    assert(!page.readFrom(new ByteArrayInputStream(bytes), bytes.length - 1L), "one byte more than the limit")
    page.close()
  }

  test("a line that does not end is refused before the rest of the response is in memory", Slow) {
    val body = new Body(10, 1 << 20)
    val line = new java.io.SequenceInputStream(
      new ByteArrayInputStream("id,name\n1,\"".getBytes(UTF_8)),
      new ByteArrayInputStream(new Array[Byte](150 << 20)))
    Using.resource(body) { _ =>
      assert(body.readFrom(line, Body.MaxBytes))
      val error = intercept[JsonProcessingException](RecordFormat.Csv(header = true, ',', None).count(body, place))
      assert(error.getMessage.contains("a line of it has more than 134217728 bytes"), error.getMessage)
    }
  }

  test("the file has no name, and its failures name its directory") {
    Using.resource(Bodies.large(new Array[Byte](1000), 10, 10)) { _ =>
      val names = Files.list(Paths.get(System.getProperty("java.io.tmpdir")))
      try assert(names.noneMatch(_.getFileName.toString.startsWith("epochal-response-")))
      finally names.close()
    }
    val full = new BodyFile(FileChannel.open(Paths.get("/dev/full"), WRITE), 10)
    val error = intercept[EpochalException](full.append(new Array[Byte](10), 0, 10))
    assert(error.condition.name == "RESPONSE_FILE_FAILED" && error.getMessage.contains("No space left on device"))
    assert(error.getMessage.contains(System.getProperty("java.io.tmpdir")))
  }

}
