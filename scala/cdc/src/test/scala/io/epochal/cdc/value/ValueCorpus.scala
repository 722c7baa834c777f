package io.epochal.cdc.value

import java.math.{BigDecimal => JavaDecimal}
import java.util.HexFormat

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Values of a PostgreSQL type.
  *
  * @param literals
  *   as the type's input function accepts them
  * @param expected
  *   SQL for a text that identifies the value `v`, computed by the server
  * @param convert
  *   from that text to Spark's internal value
  * @param isBinary
  *   whether it has a binary reader
  * @param since
  *   major version of PostgreSQL
  */
final case class ValueCorpus(
    postgres: String,
    spark: DataType,
    literals: Seq[String],
    expected: String = "format('%s', v)",
    convert: String => Any = UTF8String.fromString,
    isBinary: Boolean = true,
    since: Int = 13)

object ValueCorpus {

  private def printed(postgres: String)(literals: String*): ValueCorpus =
    ValueCorpus(postgres, StringType, literals, isBinary = false)

  private def text(postgres: String)(literals: String*): ValueCorpus = ValueCorpus(postgres, StringType, literals)

  private def decimal(precision: Int, scale: Int)(literals: String*): ValueCorpus = ValueCorpus(
    s"numeric($precision,$scale)",
    DecimalType(precision, scale),
    literals,
    convert = t => Decimal(new JavaDecimal(t), precision, scale))

  /** Microseconds since 1970, from the parts of an interval, which are exact in every version. */
  private def micros(epoch: String): String =
    s"""(SELECT (extract(day from i)::bigint * 86400000000 + extract(hour from i)::bigint * 3600000000
       |  + extract(minute from i)::bigint * 60000000 + extract(microseconds from i)::bigint)::text
       |  FROM (SELECT v - $epoch '1970-01-01 00:00:00+00' AS i) AS since)""".stripMargin

  private val instants = Seq(
    "4714-11-24 00:00:00 BC",
    "0044-03-15 12:00:00.000001 BC",
    "0001-12-31 23:59:59.999999 BC",
    "0001-01-01 00:00:00",
    "1582-10-10 10:10:10.1",
    "1969-12-31 23:59:59.999999",
    "1970-01-01 00:00:00",
    "1999-12-31 24:00:00",
    "2000-02-29 00:00:00.5",
    "2026-01-31 12:30:00.123456",
    "9999-12-31 23:59:59.999999",
    "10000-01-01 00:00:00",
    "294247-01-10 04:00:54.775807"
  )

  val texts: Seq[String] = Seq(
    "",
    " ",
    "a",
    "NULL",
    "null",
    "\\N",
    "\\.",
    "{}",
    "{\"a\",b}",
    "(,\")",
    "a\\b\"c'd,e;f",
    "\t\n\r\b\f\u000b\u0001\u001f\u007f",
    " leading and trailing ",
    "äß€",
    "\ud83d\ude00 \ud800\udf48 \udbff\udffd",
    "\ufeff\uffff\ufffd",
    (1 to 0x10ffff by 997).filterNot(c => c >= 0xd800 && c < 0xe000).map(Character.toString).mkString,
    "long " * 5000
  )

  private val jsons = Seq(
    "{}",
    "[]",
    "null",
    "\"\"",
    "1.50",
    "{\"b\": 1, \"a\": [1, 2, {\"x\": \"\\u00e9\\n\\\"\"}]}",
    "  {\"spaces\"  :\n true}  ",
    "\"\ud83d\ude00\"")

  private val numerics = Seq(
    "0",
    "0.00",
    "-0.000",
    "1",
    "-1",
    "9",
    "10",
    "99",
    "100",
    "999",
    "1000",
    "9999",
    "10000",
    "100000000",
    "-100000000.00000001",
    "0.1",
    "0.01",
    "0.001",
    "0.0001",
    "0.00001",
    "0.00001234",
    "1.00001",
    "12345.6789",
    "9999.9999",
    "10000.0001",
    "123456789012345678",
    "999999999999999999",
    "1000000000000000000",
    "9223372036854775808",
    "9999999999999999999",
    "123456789012345678901234567890.123456789012345678901234567890",
    "1" + "0" * 131071,
    "-" + "9" * 1000 + "." + "9" * 1000,
    "0." + "0" * 16382 + "1",
    "NaN"
  )

  val all: Seq[ValueCorpus] = Seq(
    ValueCorpus("boolean", BooleanType, Seq("true", "false"), convert = _ == "t"),
    ValueCorpus("smallint", ShortType, Seq("0", "-1", "32767", "-32768"), convert = _.toShort),
    ValueCorpus("integer", IntegerType, Seq("0", "-1", "2147483647", "-2147483648"), convert = _.toInt),
    ValueCorpus("bigint", LongType, Seq("0", "-1", "9223372036854775807", "-9223372036854775808"), convert = _.toLong),
    ValueCorpus(
      "real",
      FloatType,
      Seq(
        "0",
        "-0",
        "1.1",
        "1e-45",
        "1.17549435e-38",
        "3.4028235e38",
        "16777216",
        "1e10",
        "NaN",
        "Infinity",
        "-Infinity"),
      "encode(float4send(v), 'hex')",
      hex => java.lang.Float.intBitsToFloat(HexFormat.fromHexDigits(hex))
    ),
    ValueCorpus(
      "double precision",
      DoubleType,
      Seq(
        "0",
        "-0",
        "0.1",
        "5e-324",
        "2.2250738585072014e-308",
        "1.7976931348623157e308",
        "1e22",
        "NaN",
        "Infinity",
        "-Infinity"),
      "encode(float8send(v), 'hex')",
      hex => java.lang.Double.longBitsToDouble(HexFormat.fromHexDigitsToLong(hex))
    ),
    decimal(1, 0)("0", "9", "-9"),
    decimal(10, 2)("0", "0.01", "-0.10", "1", "99999999.99", "-99999999.99", "10000", "12345678.9"),
    decimal(18, 0)("999999999999999999", "-999999999999999999", "100000000000000000", "0"),
    decimal(18, 18)("0.000000000000000001", "-0.999999999999999999", "0.1", "0"),
    decimal(19, 0)("1000000000000000000", "9999999999999999999", "-9999999999999999999", "0"),
    decimal(38, 10)("9" * 28 + "." + "9" * 10, "-0.0000000001", "1", "12345678901234567890.5", "0"),
    decimal(38, 0)("9" * 38, "-" + "9" * 38, "10000000000", "0"),
    decimal(38, 38)("0." + "9" * 38, "-0." + "0" * 37 + "1", "0"),
    text("numeric")(numerics: _*),
    text("numeric")("Infinity", "-Infinity").copy(since = 14),
    text("numeric(50,20)")("1.5", "9" * 30, "NaN"),
    text("numeric(5,-2)")("1234500", "0").copy(since = 15),
    text("numeric(3,5)")("0.00999", "-0.00001").copy(since = 15),
    text("text")(texts: _*),
    text("varchar(20)")("", "x" * 20, "äöü"),
    text("char(5)")("", "ab", "abcde"),
    text("name")("", "x" * 63),
    text("citext")(texts: _*),
    text("mood")("sad", "so so", "NULL", "it's \"x\",\\", "\u00e4"),
    text("json")(jsons: _*),
    text("jsonb")(jsons: _*),
    text("uuid")("00000000-0000-0000-0000-000000000000", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380aff"),
    text("oid")("0", "4294967295"),
    text("xid")("3", "4294967295"),
    ValueCorpus(
      "bytea",
      BinaryType,
      Seq("\\x", "\\x00", "\\x" + (0L to 255L).map(HexFormat.of.toHexDigits(_, 2)).mkString, "\\x5c6e"),
      "encode(v, 'hex')",
      hex => HexFormat.of.parseHex(hex)
    ),
    ValueCorpus(
      "date",
      DateType,
      instants.map(_.replaceFirst(" [0-9:.]+", "")) :+ "5874897-12-31",
      "(v - date '1970-01-01')::text",
      _.toInt),
    ValueCorpus("timestamp", TimestampNTZType, instants, micros("timestamp"), _.toLong),
    ValueCorpus("timestamp(3)", TimestampNTZType, Seq("2026-01-31 12:30:00.1234"), micros("timestamp"), _.toLong),
    ValueCorpus(
      "timestamptz",
      TimestampType,
      instants.map(_.replaceFirst("([0-9:.]+:[0-9.]+)", "$1+00")) :+ "2026-07-01 12:00:00+05:30",
      micros("timestamptz"),
      _.toLong),
    printed("time")("00:00:00", "24:00:00", "23:59:59.999999"),
    printed("timetz")("24:00:00+15:59:59", "00:00:00-15:59", "12:00:00.5+00"),
    printed("interval")("0", "-1 year 2 mons -3 days 04:05:06.789", "178000000 years", "-00:00:00.000001"),
    printed("interval")("infinity", "-infinity").copy(since = 17),
    printed("bit(3)")("101"),
    printed("bit varying")("", "0110"),
    printed("money")("0", "-12345.67"),
    printed("hstore")("", "\"a\"=>\"b\", \"c\"=>NULL, \"d \\\"\"=>\"\""),
    text("xml")("<a/>", "<?xml version=\"1.0\" standalone=\"yes\"?><a>\u00e4</a>"),
    printed("point")("(1.5,-2)"),
    printed("box")("(1,2),(3,4)"),
    printed("path")("[(0,0),(1,1)]", "((0,0),(1,1))"),
    printed("polygon")("((0,0),(1,1),(1e300,0))"),
    printed("circle")("<(0,0),1>"),
    printed("tsvector")("a:1 b:2A 'it''s'"),
    printed("tsquery")("a & !b"),
    printed("pg_lsn")("0/0", "FFFFFFFF/FFFFFFFF"),
    printed("inet")("192.0.2.1/24", "::1", "2001:db8::/32"),
    printed("cidr")("192.0.2.0/24"),
    printed("macaddr")("08:00:2b:01:02:03"),
    printed("int4range")("empty", "[1,5)", "(,)"),
    printed("tstzrange")("[2026-01-01 00:00+00,infinity)", "(,2026-01-01 12:00:00.5+05:30]"),
    printed("moods")("[sad,\"so so\")", "[\"it's \\\"x\\\",\\\\\",)"),
    printed("int4multirange")("{}", "{[1,3),[5,7)}").copy(since = 14),
    printed("\"char\"")("a", "", "\""),
    printed("aclitem")("postgres=r/postgres"),
    printed("jsonpath")("$.\"a\"[*]")
  )
}
