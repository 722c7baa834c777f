package io.epochal.rest.source.record

import java.math.{BigDecimal => Decimal}

import org.apache.spark.sql.test.QuerySuite
import org.apache.spark.sql.{DataFrame, Row}
import org.scalatest.tagobjects.Slow
import org.scalatest.time.{Seconds, Span}

import io.epochal.core.error.EpochalException
import io.epochal.rest.source.{RecordsApi, RestOffset}
import io.epochal.support.SlowTests.slowIf

/** Numbers that are short to write and long to compute cost no more than others, wherever an API sends them. */
final class HostileNumbersSuite extends QuerySuite {
  import HostileNumbersSuite._

  private def frame(api: RecordsApi, schema: String, more: (String, String)*): DataFrame =
    spark.read
      .format("epochal-rest")
      .schema(schema)
      .options(
        Map(
          "url" -> api.url,
          "pagination" -> "offset",
          "offsetParam" -> "_start",
          "limitParam" -> "_limit",
          "pageSize" -> "10",
          "numPartitions" -> "1",
          "retry.maxAttempts" -> "2",
          "retry.initialDelay" -> "1ms") ++ more)
      .load()

  /** Fails unless `body` ends within a time that is short for computing such a number, and long for a busy machine. */
  private def soon[A](body: => A): A = failAfter(Span(60, Seconds))(body)

  private def refusal(body: => Any): EpochalException = EpochalException.in(intercept[Exception](soon(body))).get

  private val decimals = Seq(
    "a DECIMAL column" -> "v DECIMAL(10, 2)" -> ((n: String) => n),
    "a DECIMAL in a struct" -> "v STRUCT<a: STRUCT<b: DECIMAL(38, 18)>>" -> ((n: String) => s"""{"a":{"b":$n}}"""),
    "a DECIMAL in an array" -> "v ARRAY<DECIMAL(38, 0)>" -> ((n: String) => s"[$n]"),
    "a DECIMAL in a map" -> "v MAP<STRING, DECIMAL(20, 4)>" -> ((n: String) => s"""{"k":$n}""")
  )

  for (((place, column), written) <- decimals; (kind, number) <- hostile)
    test(
      s"$kind in $place is a bad record, in every mode",
      slowIf(place.endsWith("array") || place.endsWith("map")): _*) {
      RecordsApi.using(3) { api =>
        api.record = i => s"""{"id":$i,"v":${written(if (i == 1) number else "1.5")}}"""
        val schema = s"id INT, $column"
        val error = refusal(frame(api, schema).collect())
        assert(error.condition.name == "RECORD_INVALID" && error.getMessage.contains("Record 1 of"), error.getMessage)
        assert(error.getMessage.length < 1000)
        val kept = soon(frame(api, schema, "mode" -> "PERMISSIVE").collect())
        assert(kept.map(_.getInt(0)).toSeq == Seq(0, 1, 2) && kept(1).isNullAt(1) && !kept(2).isNullAt(1))
        assert(kept(1).getString(2) == api.record(1))
        val dropped = soon(frame(api, schema, "mode" -> "DROPMALFORMED").collect())
        assert(dropped.map(_.getInt(0)).toSeq == Seq(0, 2))
      }
    }

  for (kind <- Seq("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP", "BINARY"))
    test(
      s"no hostile number takes long in a column of $kind",
      slowIf(!Set("INT", "DOUBLE", "DATE").contains(kind)): _*) {
      RecordsApi.using(hostile.size) { api =>
        api.record = i => s"""{"id":$i,"v":${hostile(i)._2}}"""
        val rows = soon(frame(api, s"id INT, v $kind", "mode" -> "PERMISSIVE").collect())
        assert(rows.map(_.getInt(0)).toSeq == hostile.indices)
      }
    }

  test("a STRING column reads a hostile number as text") {
    RecordsApi.using(1) { api =>
      hostile.map(_._2).foreach { number =>
        api.record = i => s"""{"id":$i,"v":$number,"more":$number}"""
        val row =
          soon(frame(api, "id INT, v STRING", "mode" -> "PERMISSIVE", "rescuedDataColumn" -> "rest").collect()).head
        assert(row.getString(1).length <= number.length + 10 && row.getAs[String]("rest") == s"""{"more":$number}""")
      }
    }
  }

  test("exponents that fit a DECIMAL column are read") {
    RecordsApi.using(5) { api =>
      val written = Seq("1e3", "\"1.5E+3\"", "1e-1000", "-0e0", "12345.678E-2")
      api.record = i => s"""{"v":${written(i)}}"""
      val found = soon(frame(api, "v DECIMAL(10, 2)").collect()).map(_.getDecimal(0))
      assert(found.toSeq == Seq("1000.00", "1500.00", "0.00", "0.00", "123.46").map(new Decimal(_)))
    }
  }

  test(
    "CSV: a hostile number in a DECIMAL column is a bad record, and no schema is inferred from millions of digits",
    Slow) {
    RecordsApi.using(1) { api =>
      hostile.map(_._2.stripPrefix("\"").stripSuffix("\"")).foreach { number =>
        api.body = _ => s"id,v\n1,1.5\n2,$number\n3,2\n"
        val csv = Seq("bodyFormat" -> "csv", "pagination" -> "none", "endOfList" -> "assumed")
        def read(more: (String, String)*) = spark.read
          .format("epochal-rest")
          .options(Map("url" -> api.url) ++ csv ++ more)
        val rows = soon(read("mode" -> "DROPMALFORMED").schema("id INT, v DECIMAL(10, 2)").load().collect())
        assert(rows.map(_.getInt(0)).toSeq == Seq(1, 3))
        if (number.length > 1000)
          assert(refusal(read("inferSchema" -> "true").load()).condition.name == "SCHEMA_INFERENCE_FAILED")
        else assert(soon(read("inferSchema" -> "true").load().schema).size == 2)
      }
    }
  }

  test("JSON: a schema is inferred soon, with any numbers") {
    RecordsApi.using(hostile.size) { api =>
      api.record = i => s"""{"id":$i,"v":${hostile(i)._2}}"""
      val inferring = Map("url" -> api.url, "inferSchema" -> "true", "endOfList" -> "assumed")
      val found = soon(spark.read.format("epochal-rest").options(inferring).load())
      assert(found.schema.fieldNames.toSeq == Seq("id", "v"))
    }
  }

  test("a total that is a hostile number is refused") {
    hostile.map(_._2).foreach { number =>
      RecordsApi.using(3) { api =>
        api.body = array => s"""{"items":$array,"total":$number}"""
        val counted = Seq("records" -> "/items", "totalCount" -> "/total")
        val error = refusal(frame(api, "id INT", counted: _*).collect())
        assert(error.condition.name == "PAGINATION_MISMATCH" && error.getMessage.length < 1000, error.getMessage)
      }
    }
  }

  test("a cursor, a key and a record's mark may be any number: it is read as text") {
    RecordsApi.using(3) { api =>
      val number = "9e99999999"
      api.record = i => s"""{"id":$i,"n":$number}"""
      val keyed = soon(frame(api, "id INT, n STRING", "keyField" -> "/n").collect())
      assert(keyed.length == 3)
      api.body = array => s"""{"items":$array,"next":$number}"""
      val chained = Map(
        "url" -> api.url,
        "pagination" -> "cursor",
        "records" -> "/items",
        "nextCursor" -> "/next",
        "maxPages" -> "5")
      val error = refusal(spark.read.format("epochal-rest").schema("id INT").options(chained).load().collect())
      assert(Set("PAGINATION_LOOP", "TOO_MANY_PAGES")(error.condition.name), error.getMessage)
    }
  }

  test("an offset with hostile numbers as counts is refused") {
    hostile.collect { case (kind, number) if kind != "a huge negative exponent" => number }.foreach { number =>
      val offset = s"""{"v":1,"format":"epochal-rest","source":"s","records":$number}"""
      val error = soon(RestOffset.fromJson("s", offset)).swap.toOption.get
      assert(error.condition.name == "OFFSET_INVALID" && error.getMessage.length < 1500, error.getMessage)
    }
  }

  test("the neighbouring rows are unchanged") {
    RecordsApi.using(2) { api =>
      api.record = i => s"""{"v":$i.25}"""
      checkAnswer(frame(api, "v DECIMAL(10, 2)"), Seq(Row(new Decimal("0.25")), Row(new Decimal("1.25"))))
    }
  }
}

private object HostileNumbersSuite {

  /** Hostile numbers by kind, as JSON writes them. */
  val hostile: Seq[(String, String)] = Seq(
    "a huge exponent" -> "9e99999999",
    "a huge negative exponent" -> "9e-99999999",
    "an exponent beyond 32 bits" -> "1e99999999999",
    "a huge exponent in quotes" -> "\"9e99999999\"",
    "millions of digits in quotes" -> s"\"${"9" * 2000000}\""
  )
}
