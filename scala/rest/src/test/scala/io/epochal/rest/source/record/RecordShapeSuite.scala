package io.epochal.rest.source.record

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Using

import com.fasterxml.jackson.core.JsonProcessingException
import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.EpochalException
import io.epochal.kit.record.{PageScan, Piece, RecordFormat, RecordSchema, Records}
import io.epochal.rest.http.Bodies
import io.epochal.rest.source._

/** Records that are not the elements of one array. */
final class RecordShapeSuite extends AnyFunSuite {

  private val place = "http://127.0.0.1/c"

  private def options(more: (String, String)*): RestOptions =
    RestOptions.read(Map("url" -> place) ++ more).fold(throw _, identity)

  private def format(more: (String, String)*): RecordFormat = options(more: _*).withRowNames(Seq("a", "b")).rules.format

  /** The records, read as by a task, and from the blocks of a scan, of a body in memory and in a file. */
  private def records(format: RecordFormat, json: String): Seq[String] = {
    def all(records: Records) = Iterator
      .continually(records)
      .takeWhile(_.next())
      .map { record =>
        record.pass()
        new String(record.bytes, UTF_8)
      }
      .toVector
    def bodies = Seq(Bodies.of(json), Bodies.large(json.getBytes(UTF_8), 8, 16))
    val read = bodies.map(Using.resource(_)(body => all(format.open(body, place)))).distinct
    val scanned = bodies
      .map(Using.resource(_) { body =>
        val scan = PageScan.of(format, place)
        val found = scan.read(body)
        val again = all(format.open(body, place))
        val blocks = scan
          .blocks(found, body)
          .flatMap(block =>
            all(format.ofBlocks.read(new Piece(block.bytes.slice(block.from, block.until), block.length), place)))
          .toVector
        assert(blocks.size == found.records && again == blocks)
        blocks
      })
      .distinct
    assert(read == scanned && read.size == 1)
    read.head
  }

  private def missing(format: RecordFormat, json: String): String = {
    val read = intercept[EpochalException](format.count(Bodies.of(json), place))
    val scanned = intercept[EpochalException](PageScan.of(format, place).read(Bodies.of(json)))
    assert(read.condition.name == "RECORDS_NOT_FOUND" && scanned.getMessage == read.getMessage)
    read.getMessage
  }

  test("object: the value is one record, with its bytes unchanged") {
    val whole = format("recordShape" -> "object")
    assert(records(whole, """ {"id": 1.50, "b": [ 1 ]} """) == Seq("""{"id": 1.50, "b": [ 1 ]}"""))
    val within = format("recordShape" -> "object", "records" -> "/data/0")
    assert(records(within, """{"data":[{"a":"é\n"}]}""") == Seq("""{"a":"é\n"}"""))
    assert(missing(within, """{"data":[[]]}""").contains("'/data/0' is an array"))
    assert(missing(within, """{"data":null}""").contains("'/data' is null"))
    assert(records(format("recordShape" -> "object", "missingRecords" -> "empty"), "null") == Nil)
  }

  test("map: the fields are records, and their names a field of each") {
    val map = format("recordShape" -> "map", "records" -> "/d")
    assert(
      records(map, """{"d":{"x\"y":{"id":1},"é":{ },"z": {"_key":0} , "n":7}}""") == Seq(
        """{"id":1,"_key":"x\"y"}""",
        """{ "_key":"é"}""",
        """{"_key":0,"_key":"z"}""",
        "7"))
    val named = format("recordShape" -> "map", "mapKeyColumn" -> "a\"b", "recordPath" -> "/v")
    assert(records(named, """{"k":{"v":{"id":1}},"m":{"w":1}}""") == Seq("""{"id":1,"a\"b":"k"}""", "null"))
    assert(records(map, """{"d":{}}""") == Nil)
    assert(missing(map, """{"d":[]}""").contains("'/d' is an array"))
  }

  test("rows: values get the names that the response has, in whatever place, or those of the schema's order") {
    val named = format("recordShape" -> "rows", "records" -> "/rows", "columns" -> "/cols")
    assert(
      records(
        named,
        """{"rows":[[1,"x"],[2]],"cols":["id",{"name":"n"}]}""".replace("\"n\"}", "\"n\",\"type\":\"t\"}")) ==
        Seq("""{"id":1,"n":"x"}""", """{"id":2}"""))
    assert(missing(named, """{"rows":[[1]],"cols":[1]}""").contains("'/cols' is no array of names"))
    assert(missing(named, """{"rows":[[1]]}""").contains("'/cols' is no array of names"))
    val ordered = format("recordShape" -> "rows")
    assert(records(ordered, """[[1,[2,3]],[null,"]"]]""") == Seq("""{"a":1,"b":[2,3]}""", """{"a":null,"b":"]"}"""))
    // Values without a name must not be lost.
    assert(records(ordered, """[[1,2,3],{"a":1},[]]""") == Seq("[1,2,3]", """{"a":1}""", "[]"))
  }

  test("several pointers, a wildcard and a path select records in the order of the body") {
    val both = format("records" -> "/issues,/pull_requests")
    assert(
      records(
        both,
        """{"pull_requests":[{"id":3}],"issues":[{"id":1},{"id":2}]}""").mkString == """{"id":3}{"id":1}{"id":2}""")
    assert(missing(both, """{"issues":[]}""").contains("'/pull_requests' is missing"))
    assert(records(format("records" -> "/issues,/x", "missingRecords" -> "empty"), """{"issues":[1]}""") == Seq("1"))
    val edges = format("records" -> "/data/*/edges", "recordPath" -> "/node")
    assert(
      records(
        edges,
        """{"data":{"a":{"edges":[{"cursor":1,"node":{"id":1}},{"node":null},{}]},"rate":{"left":1},"n":null,"b":{"edges":[{"node":{"id":2},"x":[{}]}]}}}""") ==
        Seq("""{"id":1}""", "null", "null", """{"id":2}"""))
    assert(records(edges, """{"data":{}}""") == Nil && records(format("records" -> "/*/d"), "[]") == Nil)
    assert(records(format("records" -> "/*"), """[[1],[2,3]]""") == Seq("1", "2", "3"))
    assert(missing(edges, """{"data":{"a":{"egdes":[]}}}""").contains("'/data/*/edges' is missing"))
    assert(missing(edges, """{"data":{"a":{"edges":{}}}}""").contains("'/data/a/edges' is an object"))
  }

  test("a body that breaks off is no empty page, and stays as it was") {
    Seq("""{"d":{"a":{}""", """{"d":{},""", "", """{"d":{"a":{"x":[1}}}""").foreach { json =>
      val map = format("recordShape" -> "map", "records" -> "/d", "missingRecords" -> "empty")
      val body = Bodies.of(json)
      intercept[JsonProcessingException](map.count(body, place))
      assert(!body.rewritten && body.head(100) == json)
      intercept[JsonProcessingException](PageScan.of(map, place).read(Bodies.of(json)))
    }
  }

  test("values around the records are found, and the outline leaves records out") {
    val scan =
      PageScan.of(format("recordShape" -> "map", "records" -> "/d"), place, Seq("/next", "/d/a/id"), Some("/id"))
    val page = scan.read(Bodies.of("""{"d":{"a":{"id":1},"b":{"id":2}},"next":"x","total":9}"""))
    assert(page.records == 2 && page.values == Map("/next" -> Some("x"), "/d/a/id" -> Some("1")))
    assert(page.keys.contains((Some("1"), Some("2"))))
    assert(page.outline == Seq("/next" -> Some("x"), "/total" -> Some("9")))
  }

  private val shapes = Map[String, (Seq[(String, String)], String => String)](
    "several arrays" -> (Seq("records" -> "/a,/b") -> { array =>
      val records = array.drop(1).dropRight(1).replace("},{", "}\n{").linesIterator.filter(_.nonEmpty).toSeq
      val (a, b) = records.splitAt(records.size / 2)
      s"""{"a":[${a.mkString(",")}],"b":[${b.mkString(",")}]}"""
    }),
    "a path" -> (Seq("records" -> "/d", "recordPath" -> "/node/0") -> { array =>
      s"""{"d":${array.replace("{\"id\"", "{\"cursor\":\"c\",\"node\":[{\"id\"").replace("}", "}]}")}}"""
    }),
    "a map" -> (Seq("records" -> "/d", "recordShape" -> "map") -> { array =>
      val fields = "\\{\"id\":(\\d+)".r.replaceAllIn(array.drop(1).dropRight(1), "\"k$1\":{\"id\":$1")
      s"""{"d":{$fields}}"""
    }),
    "rows" -> (Seq("records" -> "/rows", "columns" -> "/names", "recordShape" -> "rows") -> { array =>
      s"""{"names":["id","name"],"rows":${array.replace("{\"id\":", "[").replace("\"name\":", "").replace("}", "]")}}"""
    })
  )

  for {
    (shape, (set, wrapped)) <- shapes
    kind <- Seq("none", "offset", "page")
    journal <- Seq(false, true)
  }
    test(
      s"$shape, $kind${if (journal) " with a journal" else ""}: positions count the records, over restarts and within pages") {
      RecordsApi.using(0) { api =>
        api.body = wrapped
        val paging = Seq("pagination" -> kind) ++ Option.when(kind != "none")("pageSize" -> "10")
        val all = set ++ paging ++ Option.when(journal)("journal" -> "true")
        val query = new IdQuery(api.url, StructType.fromDDL("id INT, name STRING"), all) {}
        val delivered = Seq(0, 4, 10, 20, 25).flatMap { count =>
          api.count = count
          val batches = Iterator.continually(query.batch(ReadLimit.maxRows(7))).takeWhile(_.nonEmpty).flatten.toVector
          query.restart()
          batches
        }
        assert(delivered == (0 until 25))
      }
    }

  ChainApi.kinds.foreach { case (kind, set) =>
    test(s"$kind: records under a wildcard are journalled and counted") {
      ChainApi.using(records = 0) { api =>
        api.body = (records, meta) => {
          val (a, b) = records.splitAt(1)
          def list(records: Seq[String]) = records.map(one => s"""{"node":$one}""").mkString("[", ",", "]")
          s"""{"data":{"a":{"edges":${list(a)}},"b":{"edges":${list(b)}},"c":{}},"meta":$meta}"""
        }
        val all = set.filter(_._1 != "records") ++ Seq("records" -> "/data/*/edges", "recordPath" -> "/node")
        val query = new IdQuery(api.url, StructType.fromDDL("id INT, name STRING"), all) {}
        val delivered = Seq(0, 3, 8, 21).flatMap { count =>
          api.count = count
          val batches = Iterator.continually(query.batch(ReadLimit.maxRows(5))).takeWhile(_.nonEmpty).flatten.toVector
          query.restart()
          batches
        }
        assert(delivered == (0 until 21))
      }
    }
  }

  test("one object with fields that look like pagination is no part of a list") {
    RecordsApi.using(1) { api =>
      api.body = _ => """{"id":7,"total":12,"next":"/other","has_more":true}"""
      val query = new IdQuery(api.url, StructType.fromDDL("id INT"), Seq("recordShape" -> "object")) {}
      assert(query.batch() == Seq(7) && query.batch().isEmpty)
    }
  }

  test("the key's column is added to a schema without it") {
    val schema = new RecordSchema("epochal-rest")
    def columns(ddl: String) =
      schema.of(StructType.fromDDL(ddl), None, options("recordShape" -> "map").rules).toOption.get.toDDL
    assert(columns("id INT") == "id INT,_key STRING" && columns("_key INT,id INT") == "_key INT,id INT")
  }

  test("options of other shapes are refused, and a shape is part of the identity") {
    def refused(more: (String, String)*) = RestOptions.read(Map("url" -> place) ++ more).left.toOption.get.getMessage
    assert(refused("mapKeyColumn" -> "k").contains("mapKeyColumn without recordShape=map"))
    assert(refused("columns" -> "/c").contains("columns without recordShape=rows"))
    assert(refused("recordPath" -> "/c", "bodyFormat" -> "ndjson").contains("recordPath without bodyFormat=json"))
    assert(refused("records" -> "/*/a/*").contains("at most one *"))
    assert(refused("recordShape" -> "rows", "inferSchema" -> "true").contains("Set columns"))
    assert(options("recordShape" -> "map").source.contains("recordShape=map"))
    assert(options("records" -> "/a,/b").source.contains("records=/a,/b") && !options().source.contains("record"))
  }
}
