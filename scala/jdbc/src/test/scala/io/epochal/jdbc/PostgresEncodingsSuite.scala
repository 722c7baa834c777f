package io.epochal.jdbc

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String.fromString
import org.scalacheck.Gen
import org.scalacheck.rng.Seed
import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions

/** A database in another encoding than UTF-8. */
class PostgresEncoded(encoding: String)
    extends PostgresDatabases(
      s"PostgreSQL, $encoding",
      PostgresServer.url,
      s" ENCODING '$encoding' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")

final class PostgresLatin1Suite extends SinkSuite(new PostgresEncoded("LATIN1")) {

  Seq("inline", "staged", "prepared").foreach { transport =>
    on(s"a text that the encoding lacks is a bad row, by transport=$transport", table) { f =>
      val options = Map("sinkId" -> "sink", "transport" -> transport)
      def row(n: Long, word: String): InternalRow = InternalRow(n, fromString(word))
      val run = f.newRun(query, options)
      write(f, run, 0, Seq(row(1, "éÿ\u0080 plain"), row(2, "")))
      val error = refused(Conditions.BadRow)(write(f, run, 1, Seq(row(3, "ok"), row(4, "é€ of a secret"))))
      assert(error.values("column") == "word")
      assert(error.values("reason") == "its character 2 is not in the database's encoding LATIN1, as all are in UTF8")
      val lenient = f.newRun(query, options + ("deadLetterTable" -> "bad"))
      write(f, lenient, 1, Seq(row(3, "ok"), row(4, "é🙂\"")))
      assert(f.database.query("SELECT word FROM t ORDER BY id").map(_.head) == Seq("éÿ\u0080 plain", "", "ok"))
      assert(f.database.one("SELECT row_json FROM bad") == "{\"id\":4,\"word\":\"é\\ud83d\\ude42\\\"\"}")
    }
  }

  /** The begin of an escape. */
  private val u = "\\u"
  private val raw = s"{\"a\":\"${u}65e5\"}"

  private val schema = new StructType()
    .add("id", LongType)
    .add("short", StringType)
    .add("list", ArrayType(StringType))
    .add("doc", StringType)
    .add("tree", StructType(Seq(StructField("a", StringType))))
    .add("raw", StringType)
    .add("parsed", StringType)

  private def row(id: Long, word: String, doc: String = "{}", raw: String = "{}"): InternalRow = {
    val text = fromString(word)
    def at(n: Long) = if (id == n) text else fromString("é")
    InternalRow(
      id,
      at(0),
      ArrayData.toArrayData(Array[Any](null, at(1))),
      fromString(doc),
      InternalRow(at(2)),
      fromString(raw),
      at(3))
  }

  onSchema(
    "texts in arrays, JSON and types that the server parses are checked as well, and jsonb's escapes",
    schema,
    "CREATE TABLE t (id BIGINT, short VARCHAR(1), list TEXT[], doc JSONB, tree JSONB, raw JSON, parsed TSVECTOR)"
  ) { f =>
    val run = f.newRun(query)
    write(f, run, 0, Seq(row(9, "é", s"{\"é\":\"${u}00e9 \\\\u65e5\"}", raw)))
    assert(
      f.database.query("SELECT short, list::text, doc->>'é', tree->>'a', raw::text, parsed::text FROM t").head ==
        Seq("é", "{NULL,é}", s"é ${u}65e5", "é", raw, "'é'"))
    Seq("short", "list", "tree", "parsed").zipWithIndex.foreach { case (column, i) =>
      assert(refused(Conditions.BadRow)(write(f, run, 1, Seq(row(i.toLong, "日")))).values("column") == column)
    }
    Seq("[\"日\"]", s"[\"${u}65e5\"]", s"[\"\\\\${u}d83d${u}de42\"]", s"{\"${u}20AC\":1}").foreach(doc =>
      assert(refused(Conditions.BadRow)(write(f, run, 1, Seq(row(9, "é", doc)))).values("column") == "doc", doc))
    assert(refused(Conditions.BadRow)(write(f, run, 1, Seq(row(9, "é", raw = "[\"日\"]")))).values("column") == "raw")
  }
}

/** SQL_ASCII keeps bytes as they are. */
@Slow
final class PostgresSqlAsciiSuite extends SinkSuite(new PostgresEncoded("SQL_ASCII")) {

  private val schema = new StructType().add("id", LongType).add("word", StringType).add("doc", StringType)

  onSchema(
    "every text is stored; lengths count bytes, and jsonb decodes no escapes beyond ASCII",
    schema,
    "CREATE TABLE t (id BIGINT, word VARCHAR(4), doc JSONB)") { f =>
    def row(word: String, doc: String): InternalRow = InternalRow(1L, fromString(word), fromString(doc))
    val run = f.newRun(query)
    write(f, run, 0, Seq(row("日", "{\"日\":\"\\u0041\"}")))
    assert(f.database.query("SELECT word, doc::text FROM t").head == Seq("日", "{\"日\": \"A\"}"))
    assert(refused(Conditions.BadRow)(write(f, run, 1, Seq(row("日é", "{}")))).values("column") == "word")
    assert(refused(Conditions.BadRow)(write(f, run, 1, Seq(row("a", "[\"\\u00e9\"]")))).values("column") == "doc")
  }
}

@Slow final class PostgresEucJpSuite extends RandomTexts("EUC_JP", "日本é仮名")
@Slow final class PostgresEucKrSuite extends RandomTexts("EUC_KR", "한글漢字")
@Slow final class PostgresWin1252Suite extends RandomTexts("WIN1252", "€ÿ–")
@Slow final class PostgresKoi8Suite extends RandomTexts("KOI8R", "Привет")

/** @param known
  *   that the encoding has
  */
abstract class RandomTexts(encoding: String, known: String) extends SinkSuite(new PostgresEncoded(encoding)) {

  on("each text is stored unchanged, or is a bad row", table) { f =>
    val seed = Seed.random()
    info(s"seed ${seed.toBase64}")
    val character = Gen.frequency(
      3 -> Gen.oneOf(known.codePoints.toArray.toSeq),
      1 -> Gen.choose(1, 0x7ff),
      1 -> Gen.choose(0x800, 0xd7ff),
      1 -> Gen.choose(0xe000, 0x2ffff))
    val texts = Gen
      .listOfN(2000, Gen.choose(0, 4).flatMap(Gen.listOfN(_, character)))
      .pureApply(Gen.Parameters.default, seed)
      .map(codes => new String(codes.toArray, 0, codes.size)) :+ known
    val rows = texts.zipWithIndex.map { case (text, i) => InternalRow(i.toLong, fromString(text)) }
    write(f, f.newRun(query, Map("sinkId" -> "sink", "deadLetterTable" -> "bad", "maxBadRows" -> "5000")), 0, rows)
    val stored =
      f.database.query("SELECT id, word FROM t").map(row => row.head.asInstanceOf[Long].toInt -> row(1)).toMap
    assert(stored.forall { case (i, word) => texts(i) == word } && stored.contains(texts.size - 1))
    assert(stored.size > 200 && stored.size < texts.size)
    assert(f.database.one("SELECT count(*) FROM bad") == (texts.size - stored.size).toLong)
  }
}
