package io.epochal.kit.record

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.logging.log4j.Level
import org.apache.spark.sql.types.{LongType, StringType, StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.EpochalException
import io.epochal.support.LoggedLines

/** Rows of a source without HTTP: messages of a queue, each with some records, and a number in an origin column. */
final class RecordRowsSuite extends AnyFunSuite {
  import RecordRowsSuite._

  private val json = RecordFormat.Json("/items")
  private val good = """{"items":[{"id":1,"name":"a"},{"id":2,"name":"b"}]}"""
  private val odd = """{"items":[{"id":3},{"id":"x","name":"c"},{"id":4,"more":[1]}]}"""

  private def rows(
      rules: RecordRules,
      ddl: String,
      messages: Seq[String],
      ofTask: Map[String, Any] = Map.empty): (Seq[String], Long) = {
    val schema = StructType((if (ddl.isEmpty) new StructType() else StructType.fromDDL(ddl)) ++ rules.apart)
    val columns = new RecordColumns(RecordReading(schema, "UTC"), rules, ofTask)
    val found = new RecordRows(columns, rules, new Queue(rules.format, messages), "queue 'orders'")
    val all = Iterator.continually(found).takeWhile(_.next()).map(_.row.toSeq(schema).mkString("|")).toVector
    (all, found.malformed)
  }

  test("the records of all messages become rows, in every format") {
    val expected = (Seq("1|a", "2|b", "3|c"), 0L)
    val inJson = Seq(good, """{"items":[{"name":"c","id":3}]}""")
    assert(rows(RecordRules(json), "id INT, name STRING", inJson) == expected)
    val inLines = Seq("{\"id\":1,\"name\":\"a\"}\n{\"id\":2,\"name\":\"b\"}", "\n{\"id\":3,\"name\":\"c\"}\n")
    assert(rows(RecordRules(RecordFormat.Ndjson(tolerant = false)), "id INT, name STRING", inLines) == expected)
    val inCsv = Seq("name,id\na,1\nb,2\n", "id,name\n3,\"c\"")
    assert(rows(RecordRules(RecordFormat.Csv(header = true, ',', None)), "id INT, name STRING", inCsv) == expected)
  }

  test("FAILFAST fails with the record's number and the source's place, without a value") {
    val error = intercept[EpochalException](rows(RecordRules(json), "id INT, name STRING", Seq(good, odd)))
    assert(error.condition.name == "RECORD_INVALID")
    assert(error.getMessage.contains("queue 'orders'") && error.getMessage.contains("3"), error.getMessage)
    assert(error.getMessage.contains("the column 'id' is INT") && !error.getMessage.contains("\"x\""))
  }

  test("DROPMALFORMED drops and counts records, including those with no value for a NOT NULL column") {
    val rules = RecordRules(json, RecordMode.DropMalformed)
    assert(rows(rules, "id INT, name STRING", Seq(good, odd)) == ((Seq("1|a", "2|b", "3|null", "4|null"), 1L)))
    assert(rows(rules, "id INT, name STRING NOT NULL", Seq(good, odd)) == ((Seq("1|a", "2|b"), 3L)))
  }

  test("PERMISSIVE keeps the values that fit, and the unchanged record; unknown fields go into a separate column") {
    val rules = RecordRules(json, RecordMode.Permissive("_corrupt"), unknown = Some("_more"))
    assert(
      rows(rules, "id INT, name STRING", Seq(odd)) ==
        ((Seq("3|null|null|null", "null|c|{\"id\":\"x\",\"name\":\"c\"}|null", "4|null|null|{\"more\":[1]}"), 1L)))
  }

  test("a record beyond the limit does not fit, and only its beginning is kept") {
    val rules = RecordRules(json, RecordMode.Permissive("_corrupt"), maxBytes = Some(10))
    assert(
      rows(rules, "id INT, name STRING", Seq(odd)) ==
        ((Seq("3|null|null", "null|null|{\"id\":\"x\",", "null|null|{\"id\":4,\"m"), 2L)))
  }

  test("columns of a record's origin have the names and values that the source sets") {
    val origin = Seq(StructField("_offset", LongType), StructField("_queue", StringType))
    val rules = RecordRules(json, origin = origin)
    assert(
      rows(rules, "id INT", Seq(good, odd.replace("\"x\"", "9")), Map("_queue" -> UTF8String.fromString("orders"))) ==
        ((Seq("1|0|orders", "2|0|orders", "3|1|orders", "9|1|orders", "4|1|orders"), 0L)))
  }

  test("requireColumns fails for columns that no record of the task has, and names the fields that are there") {
    Seq(json, RecordFormat.Ndjson(tolerant = true)).foreach { format =>
      val messages = if (format == json) Seq(good, odd) else Seq("{\"id\":1,\"name\":\"secret\"}\n{\"id\":2}\n")
      val rules = RecordRules(format, RecordMode.Permissive("_corrupt"), requireColumns = true)
      val error = intercept[EpochalException](rows(rules, "id INT, nmae STRING, ID INT", messages))
      assert(error.condition.name == "COLUMNS_MISSING")
      assert(
        error.getMessage.contains("for the columns nmae, ID;") && error.getMessage.contains(
          "the first record has id, name."))
      assert(!error.getMessage.contains("secret"))
    }
  }

  test("a column is there if one record has its field, even as null") {
    val rules = RecordRules(json, requireColumns = true)
    val late = Seq(good, """{"items":[{"id":3},{"late":null,"id":4}]}""")
    assert(rows(rules, "id INT, name STRING, late INT", late)._1.last == "4|null|null")
    assert(rows(rules, "id INT, more STRING", Seq("""{"items":[]}"""))._1.isEmpty, "no record, no error")
    assert(rows(rules, "", Seq(good))._1.size == 2)
  }

  test("a field of a struct that is in none of its objects is missing, at any depth") {
    val records = """{"items":[
      {"id":1,"customer":{"name":"a","address":{"city":"x","zip":null}},"lines":[],"tags":{}},
      {"id":2,"customer":null,"lines":[{"sku":"s","price":1.5},{"sku":"t"}],"tags":{"k":{"v":1}}}]}"""
    def missing(ddl: String, json: String = records): Option[String] =
      try {
        val _ = rows(RecordRules(this.json, requireColumns = true), ddl, Seq(json))
        None
      } catch {
        case e: EpochalException =>
          assert(e.condition.name == "COLUMNS_MISSING" && !e.getMessage.contains("\"a\""))
          Some(e.values("columns"))
      }
    val address = "address: STRUCT<city: STRING, zip: STRING>"
    assert(missing(s"customer STRUCT<name: STRING, $address>, id INT").isEmpty, "null is a value")
    assert(missing("customer STRUCT<name: STRING, emial: STRING>").contains("customer.emial"))
    assert(
      missing("id INT, customer STRUCT<nmae: STRING, address: STRUCT<zpi: STRING, city: STRING>>, no INT")
        .contains("no, customer.nmae, customer.address.zpi"))
    assert(missing("lines ARRAY<STRUCT<sku: STRING, price: DECIMAL(9, 2)>>").isEmpty, "one element has it")
    assert(missing("lines ARRAY<STRUCT<price: DECIMAL(9, 2), cuont: INT>>").contains("lines.cuont"))
    assert(missing("tags MAP<STRING, STRUCT<v: INT, w: INT>>").contains("tags.w"))
    val empty = """{"items":[{"customer":null,"lines":[]},{"customer":null}]}"""
    assert(missing("customer STRUCT<emial: STRING>, lines ARRAY<STRUCT<sku: STRING>>", empty).isEmpty, "no object")
    assert(missing("customer STRUCT<emial: STRING>", """{"items":[{"customer":{}}]}""").contains("customer.emial"))
    val error = intercept[EpochalException](
      rows(RecordRules(this.json, requireColumns = true), "customer STRUCT<emial: STRING>", Seq(records)))
    assert(error.getMessage.contains("the first record has id, customer.name, customer.address, lines, tags."))
  }

  test("without requireColumns a missing column is logged, once for all tasks of a query") {
    val reading = RecordReading(StructType.fromDDL("id INT, nmae STRING"), "UTC")
    val rules = RecordRules(json)
    def task(): Unit = {
      val rows = new RecordRows(new RecordColumns(reading, rules), rules, new Queue(json, Seq(good)), "queue 'orders'")
      while (rows.next()) {}
      rows.close()
    }
    def logged(body: => Unit) = LoggedLines.of(Level.WARN)(body).filter(_.contains("COLUMNS_MISSING"))
    val first = logged { task(); task() }
    assert(first.size == 1 && first.head.contains("nmae; the first record has id, name. They are NULL"), first)
    assert(first.head.contains("A task read 2 records from queue 'orders' without a field"), first)
    assert(
      logged {
        val other = new RecordColumns(reading.copy(scan = "another query"), rules)
        val rows = new RecordRows(other, rules, new Queue(json, Seq(good)), "queue 'orders'")
        assert(rows.next())
        rows.close()
      }.size == 1,
      "a task that ends early")
  }

  test("many fields are shown in part") {
    val record = (0 until 100).map(i => s""""f$i\\n":$i""").mkString("{", ",", "}")
    val error = intercept[EpochalException](
      rows(RecordRules(json, requireColumns = true), "x INT", Seq(s"""{"items":[$record]}""")))
    assert(error.getMessage.contains("f19?, …") && !error.getMessage.contains("f20"), error.getMessage)
  }

  test("a task without columns parses no record, and gives a row for each") {
    assert(rows(RecordRules(json), "", Seq(good, odd)) == ((Seq.fill(5)(""), 0L)))
  }
}

private object RecordRowsSuite {
  final private class Queue(format: RecordFormat, messages: Seq[String]) extends ScannedPages {
    private val body = new Body
    private val scan = PageScan.of(format, "queue 'orders'")
    private var offset = -1L
    private var before = 0L

    override def origin: Option[RecordOrigin] = Some(new Message(offset))

    override protected def nextPage(): Boolean = {
      val more = offset + 1 < messages.size
      if (more) {
        offset += 1
        val bytes = messages(offset.toInt).getBytes(UTF_8)
        System.arraycopy(bytes, 0, body.reserve(bytes.length), 0, bytes.length)
        val found = scan.read(body).records
        open(format.open(body, "queue 'orders'"), before, 0, found)
        before += found
      }
      more
    }

    override def close(): Unit = body.close()
  }

  final private class Message(offset: Long) extends RecordOrigin {
    override def value(column: String): Any = if (column == "_offset") offset else null
  }
}
