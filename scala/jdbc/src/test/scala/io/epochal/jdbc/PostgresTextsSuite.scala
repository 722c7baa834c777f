package io.epochal.jdbc

import scala.util.Using

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen
import org.scalacheck.rng.Seed

import io.epochal.core.error.Conditions
import io.epochal.core.ledger.Target
import io.epochal.jdbc.database.{BoundColumn, BoundTable, TargetColumn, TargetTable, WriteMode}
import io.epochal.kit.database.{PostgresType, QualifiedName}
import io.epochal.kit.sink.row.{BadValue, ChunkedBytes}
import io.epochal.kit.spark.memory.BinaryRow

/** Texts in columns of other types: every text that a task accepts, PostgreSQL accepts, with the same meaning. */
final class PostgresTextsSuite extends SinkSuite(Postgres) {

  private val texts = new StructType().add("t", StringType).add("v", StringType)
  private def text(value: String): UTF8String = UTF8String.fromString(value)

  /** Whether a task accepts the text for a column of the type. */
  private def taken(kind: String): String => Boolean = problem(kind).andThen(_.isEmpty)

  /** Why a task refuses the text. */
  private def problem(kind: String): String => Option[String] = {
    val schema = new StructType().add("v", StringType)
    val column =
      TargetColumn("v", PostgresType(kind, -1, kind), nullable = true, filled = false, generated = false)
    val table = TargetTable(QualifiedName("s", "t"), Target("s.t", None), Seq(column), Nil)
    val bound =
      BoundTable(table, Seq(BoundColumn(schema.head, 0, column, required = false)), WriteMode.Append)
    val encoder = postgres.PostgresDialect.rowFormat(bound).encoder(new ChunkedBytes(Long.MaxValue, () => fail()))
    val row = BinaryRow.converter(schema)
    value =>
      try {
        encoder.encode(row(InternalRow(text(value))))
        None
      } catch { case bad: BadValue => Some(bad.reason) }
  }

  private val judge =
    """CREATE FUNCTION valid(value text, kind text) RETURNS boolean LANGUAGE plpgsql AS $$
      |BEGIN EXECUTE format('SELECT %L::%s', value, kind); RETURN true;
      |EXCEPTION WHEN OTHERS THEN RETURN false; END $$""".stripMargin

  /** Mutates good texts, and compares what the task accepts with what the server accepts.
    *
    * @param only
    *   the server accepts nothing more
    */
  private def sameAsServer(kind: String, good: Gen[String], alphabet: String, only: Boolean)(equal: String): Unit =
    onSchema(
      s"texts that a task accepts for $kind are accepted by PostgreSQL, with the same value",
      texts,
      judge,
      s"CREATE TABLE t (t TEXT, v $kind)") { f =>
      val seed = Seed.random()
      info(s"seed ${seed.toBase64}")
      val changed = for {
        start <- good
        cuts <- Gen.choose(0, 2)
        at <- Gen.listOfN(cuts, Gen.choose(0, math.max(start.length - 1, 0)))
        put <- Gen.listOfN(cuts, Gen.frequency(1 -> Gen.const(""), 3 -> Gen.oneOf(alphabet.toSeq).map(_.toString)))
      } yield at.zip(put).foldLeft(start) { case (s, (i, c)) => s.take(i) + c + s.drop(i + 1) }
      val all = Gen.listOfN(3000, changed).pureApply(Gen.Parameters.default.withSize(8), seed).distinct
      val (ours, others) = all.partition(taken(kind))
      assert(ours.size > 50 && others.size > 50)
      write(f, f.newRun(query), 0, ours.map(t => InternalRow(text(t), text(t))))
      assert(f.database.query(s"SELECT t, v FROM t WHERE NOT ($equal)") == Nil)
      if (only) assert(accepted(f, kind, others) == Nil)
    }

  private def accepted(f: JdbcSinkFixture, kind: String, candidates: Seq[String]): Seq[String] =
    Using.resource(f.database.connect()) { connection =>
      val statement =
        connection.prepareStatement("SELECT array_agg(x) FROM unnest(?::text[]) AS x WHERE valid(x, ?)")
      statement.setArray(1, connection.createArrayOf("text", candidates.toArray[AnyRef]))
      statement.setString(2, kind)
      val rows = statement.executeQuery()
      rows.next()
      Option(rows.getArray(1)).fold(Seq.empty[String])(_.getArray.asInstanceOf[Array[String]].toSeq)
    }

  private val hex = Gen.oneOf("0123456789abcdefABCDEF".toSeq)
  private val uuids: Gen[String] = for {
    digits <- Gen.listOfN(32, hex).map(_.mkString)
    text <- Gen.oneOf(
      digits,
      digits.grouped(4).mkString("-"),
      Seq(8, 12, 16, 20).reverse.foldLeft(digits)((s, i) => s.take(i) + "-" + s.drop(i)))
    braces <- Gen.oneOf(true, false, false)
  } yield if (braces) s"{$text}" else text

  sameAsServer("uuid", uuids, "0aF-{}g ", only = true)("v = t::uuid")

  private val octet = Gen.choose(0, 260).map(_.toString)
  private val v4 = Gen.listOfN(4, octet).map(_.mkString("."))
  private val group = Gen.choose(0, 0xffff).map(_.toHexString)
  private val v6: Gen[String] = for {
    groups <- Gen.listOfN(8, Gen.frequency(1 -> Gen.const("0"), 2 -> group))
    from <- Gen.choose(0, 7)
    until <- Gen.choose(from, 8)
    short <- Gen.oneOf(true, false)
    tail <- Gen.frequency(4 -> Gen.const(None), 1 -> v4.map(Some(_)))
    all = tail.fold(groups)(t => groups.take(6) :+ t)
  } yield
    if (!short) all.mkString(":")
    else s"${all.take(from).mkString(":")}::${all.drop(until).mkString(":")}"
  private val addresses: Gen[String] = for {
    address <- Gen.oneOf(v4, v6)
    bits <- Gen.option(Gen.choose(0, 130))
  } yield address + bits.fold("")(b => s"/$b")
  private val networks: Gen[String] = for {
    bits <- Gen.choose(0, 32)
    number <- Gen.choose(0L, 0xffffffffL)
    masked = if (bits == 0) 0L else number >>> (32 - bits) << (32 - bits)
    parts = Seq(24, 16, 8, 0).map(shift => (masked >>> shift) & 0xff)
    v6 <- Gen.oneOf(true, false)
  } yield
    if (v6) "2001:%x:%x::/%s".formatLocal(java.util.Locale.ROOT, masked >>> 16, masked & 0xffff, 16 + bits)
    else s"${parts.mkString(".")}/$bits"

  sameAsServer("inet", addresses, "0:./f1 ", only = false)("v = t::inet")
  sameAsServer("cidr", networks, "0:./f1 ", only = false)("v = t::cidr")

  private val numbers: Gen[String] = for {
    sign <- Gen.oneOf("", "-", "+")
    whole <- Gen.listOf(Gen.numChar).map(_.mkString)
    fraction <- Gen.option(Gen.listOf(Gen.numChar).map(_.mkString))
    exponent <- Gen.option(Gen.choose(-30, 30))
    upper <- Gen.oneOf("e", "E")
  } yield sign + whole + fraction.fold("")("." + _) + exponent.fold("")(upper + _)

  sameAsServer("numeric", numbers, "0123456789.eE-+ N", only = false)("v = t::numeric AND scale(v) = scale(t::numeric)")

  private val json: Gen[String] = {
    val scalar = Gen.oneOf(
      Gen.oneOf("true", "false", "null", "0", "-1.5e10", "1E+2", "0.0", "-0"),
      Gen.oneOf("\"\"", "\"é🙂\"", "\"\\u00e9\\n\\\\\"", "\"\\ud83d\\ude42\"", "\"a\\\"b\\/\""),
      Gen.oneOf("\"\\u0000\"", "\"\\ud83d\"", "1e200000", "1e-16383", "1e-16384", "01", "\"\t\""))
    def nested(depth: Int): Gen[String] =
      if (depth == 0) scalar
      else
        Gen.frequency(
          2 -> scalar,
          1 -> Gen.choose(0, 3).flatMap(Gen.listOfN(_, nested(depth - 1))).map(_.mkString("[", " , ", "]")),
          1 -> Gen
            .choose(0, 3)
            .flatMap(Gen.listOfN(_, nested(depth - 1)))
            .map(_.zipWithIndex.map { case (v, i) => s"""\n"k$i":$v""" }.mkString("{", ",", "}")))
    nested(4)
  }

  sameAsServer("jsonb", json, "{}[]\",:01.e-\\u \u0001ntf", only = true)("v = t::jsonb")

  test("JSON limits for which the server would fail the whole epoch make bad rows") {
    val take = taken("jsonb")
    assert(take("[" * 1000 + "]" * 1000) && !take("[" * 1001 + "]" * 1001))
    assert(!take("1e99999999999") && !take("") && !take(" ") && take(" 1 "))
    assert(take("0e200000") && take("-0.00E+99999") && !take("0.01e200000"))
  }

  test("the reason of a bad row does not quote the text") {
    for {
      kind <- Seq("json", "jsonb", "uuid", "inet", "numeric", "date", "time", "timestamp", "interval", "bytea")
      value <- Seq("hunter2", "{\"a\":hunter2}", "[hunter2", "\"hunter2", "1hunter2")
      reason <- problem(kind)(value)
    } assert(!reason.contains("hunter2") && !reason.contains("Source"), s"$kind: $reason")
    assert(problem("jsonb")("{\"a\":nope}").contains("it is not JSON: character 6 is unexpected"))
    assert(problem("jsonb")("[1").contains("it is not JSON: it ends too early"))
  }

  /** Texts that fit a column of the type, and texts that are bad rows. */
  private def column(kind: String, ddl: String*)(good: String*)(bad: String*): Unit =
    onSchema(
      s"texts that are not valid for $kind are bad rows",
      new StructType().add("id", LongType).add("a", StringType),
      ddl :+ s"CREATE TABLE t (id BIGINT, a $kind)": _*) { f =>
      val run = f.newRun(query)
      write(f, run, 0, good.zipWithIndex.map { case (value, i) => InternalRow(i.toLong, text(value)) })
      assert(f.database.query("SELECT a::text FROM t ORDER BY id").map(_.head) == good)
      bad.foreach { value =>
        assert(
          refused(Conditions.BadRow)(write(f, run, 1, Seq(InternalRow(0L, text(value))))).values("column") == "a",
          value)
      }
    }

  column("mood", "CREATE TYPE mood AS ENUM ('sad', 'so so', 'häppy')")("sad", "so so", "häppy")("Sad", "", "happy")
  column("numeric(5,2)")("0.00", "123.45", "-999.99", "NaN")(
    "1000",
    "0.001",
    "nan",
    "Infinity",
    "-inf",
    "",
    "1e3",
    "abc")
  column("numeric")("0", "1." + "0" * 50 + "1", "9" * 500, "0.0000000001", "NaN", "Infinity", "-Infinity")(
    "Inf",
    "1e200000",
    "1e-20000",
    "0x10",
    "1_000")
  column("numeric(3,5)")("0.00999", "-0.00001")("0.01", "0.000001")
  column("name")("x" * 63)("x" * 64, "é" * 32)
  column("code", "CREATE DOMAIN short AS VARCHAR(3)", "CREATE DOMAIN code AS short CHECK (VALUE <> 'no')")("abc", "é")(
    "abcd")
  column("amount", "CREATE DOMAIN money2 AS NUMERIC(6,2)", "CREATE DOMAIN amount AS money2 NOT NULL")("1234.50")(
    "12345",
    "0.123")
  column("json")("""{"b": 1, "a": [1.50, "x"]}""", " [] ")("""{"a":1""", "nul", "{'a':1}", "[1,]", "\"\\u0000\"")

  onSchema(
    "NULL for a NOT NULL domain is a bad row",
    new StructType().add("a", StringType),
    "CREATE DOMAIN inner_ AS TEXT NOT NULL",
    "CREATE DOMAIN outer_ AS inner_",
    "CREATE TABLE t (a outer_)") { f =>
    refused(Conditions.BadRow)(write(f, f.newRun(query), 0, Seq(InternalRow(null))))
  }

  onSchema(
    "a type that merely shares a known type's name is not mistaken for it",
    new StructType().add("a", StringType),
    "CREATE TYPE public.uuid AS (x INTEGER)",
    "CREATE TABLE t (a public.uuid)") { f =>
    refused(Conditions.ColumnTypeMismatch)(f.newRun(query))
  }

  on(
    "a citext column accepts texts",
    "CREATE EXTENSION IF NOT EXISTS citext",
    "CREATE TABLE t (id BIGINT, word CITEXT)") { f =>
    write(f, f.newRun(query), 0, numbers(f, 0 until 3))
    assert(f.database.one("SELECT count(*) FROM t WHERE word = 'ROW 1'") == 1L)
  }
}
