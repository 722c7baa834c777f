package io.epochal.jdbc

import org.apache.spark.sql.catalyst.expressions.GenericRow
import org.apache.spark.sql.functions.{col, from_json}
import org.apache.spark.sql.test.QuerySuite
import org.apache.spark.sql.types._
import org.apache.spark.sql.{DataFrame, Row}
import org.scalatest.tags.Slow

/** Our tables read by Spark's own reader. */
@Slow
final class ReadBackSuite extends QuerySuite {

  private val scalars = Seq(
    "BOOLEAN" -> Seq("true", "false"),
    "SMALLINT" -> Seq("32767S", "-32768S"),
    "INT" -> Seq("2147483647", "-2147483648"),
    "BIGINT" -> Seq("9223372036854775807L", "-1L"),
    "FLOAT" -> Seq("1.5F", "FLOAT('NaN')", "FLOAT('-Infinity')"),
    "DOUBLE" -> Seq("1e300D", "DOUBLE('NaN')", "DOUBLE('Infinity')"),
    "DECIMAL(10,2)" -> Seq("12345678.90", "-0.01"),
    "DECIMAL(38,18)" -> Seq("12345678901234567890.123456789012345678", "0"),
    "STRING" -> Seq("'é🙂 \"x\" {,}\\n'", "''"),
    "BINARY" -> Seq("X'00FF'", "X''"),
    "DATE" -> Seq("DATE'0001-01-01'", "DATE'9999-12-31'", "DATE'2026-03-29'"),
    "TIMESTAMP" -> Seq("TIMESTAMP'2026-03-29 02:30:00.123456Z'", "TIMESTAMP'9999-12-31 23:59:59.999999Z'"),
    "TIMESTAMP_NTZ" -> Seq("TIMESTAMP_NTZ'2026-03-29 02:30:00.123456'", "TIMESTAMP_NTZ'1900-01-01 00:00:00'")
  )

  /** Whether Spark distinguishes CHAR and VARCHAR from STRING. */
  private val kept = "spark.sql.preserveCharVarcharTypeInfo"

  private def written(sql: String)(check: (DataFrame, DataFrame) => Any): Unit = {
    val database = Postgres.newDatabase()
    try {
      val frame = spark.sql(sql)
      frame.write.format("epochal-jdbc").options(database.options("t", "createTable" -> "true")).mode("append").save()
      val options = Map(
        "url" -> database.url,
        "dbtable" -> "t",
        "driver" -> "org.postgresql.Driver",
        "preferTimestampNTZ" -> "true")
      withSQLConf(kept -> "false")(check(frame, spark.read.format("jdbc").options(options).load()): Unit)
    } finally database.close()
  }

  private def same(before: DataFrame, after: DataFrame): Unit = {
    assert(after.schema.map(f => f.name -> f.dataType) == before.schema.map(f => f.name -> f.dataType))
    assert(after.collect().map(plain).toSet == before.collect().map(plain).toSet)
    ()
  }

  /** Bytes compare by their content, and so does NaN. */
  private def plain(value: Any): Any = value match {
    case row: Row            => row.toSeq.map(plain)
    case bytes: Array[Byte]  => bytes.toSeq
    case values: Iterable[_] => values.toSeq.map(plain)
    case number: Float       => number.toString
    case number: Double      => number.toString
    case other               => other
  }

  scalars.foreach { case (kind, values) =>
    test(s"$kind reads back through Spark's own reader, as a scalar and in arrays") {
      val all = values :+ "NULL"
      val array = all.map(v => s"CAST($v AS $kind)").mkString("array(", ", ", ")")
      written(all.map(v => s"SELECT CAST($v AS $kind) AS a, $array AS b").mkString(" UNION ALL "))(same)
    }
  }

  test("CHAR and VARCHAR read back as STRING, TIME as a timestamp to the millisecond") {
    withSQLConf(kept -> "true", "spark.sql.timeType.enabled" -> "true") {
      written("SELECT CAST('ab' AS CHAR(5)) AS a, CAST('é' AS VARCHAR(3)) AS b, TIME'12:30:00.123456' AS c") {
        (before, after) =>
          assert(before.schema.map(_.dataType) == Seq(CharType(5), VarcharType(3), TimeType(6)))
          assert(after.select("a", "b").collect().toSeq == Seq(Row("ab   ", "é")))
          assert(after.selectExpr("CAST(c AS STRING)").collect().head.getString(0) == "1970-01-01 12:30:00.123")
      }
    }
  }

  test("TINYINT reads back as SMALLINT, intervals and nested values as STRING") {
    written(
      """SELECT 5Y AS a, INTERVAL '1 02:03:04.5' DAY TO SECOND AS b, INTERVAL '1-2' YEAR TO MONTH AS c,
        |  named_struct('x', 1.50BD, 'y', array('é', NULL)) AS d, map('k', 2) AS e, parse_json('[1]') AS f""".stripMargin) {
      (before, after) =>
        assert(after.schema.map(_.dataType) == Seq(ShortType) ++ Seq.fill(5)(StringType))
        val structs =
          from_json(col("d"), before.schema("d").dataType.asInstanceOf[StructType], Map.empty[String, String])
        assert(
          after.withColumn("d", structs).collect().toSeq ==
            Seq(
              new GenericRow(
                Array[Any](
                  5.toShort,
                  "26:03:04.5",
                  "1 year 2 mons",
                  Row(new java.math.BigDecimal("1.50"), Seq("é", null)),
                  "{\"k\": 2}",
                  "[1]"))))
    }
  }
}
