package io.epochal.cdc.value

import scala.util.Try

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.tags.Slow

import io.epochal.cdc.pgoutput.TestTuple
import io.epochal.cdc.snapshot.TableKey
import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.jdbc.PostgresServer
import io.epochal.kit.database.PostgresType

final class ServerValuesSuite extends ServerValuesChecks("PostgreSQL", PostgresServer.url)

@Slow
final class OldestServerValuesSuite extends ServerValuesChecks("PostgreSQL 13", PostgresServer.oldest)

/** Values in both formats of COPY are read as the server itself describes them. */
abstract class ServerValuesChecks(kind: String, server: => Either[String, String]) extends ServerSuite(kind, server) {

  private val formats = Seq[(String, StructType) => Seq[Seq[Any]]](byText, byBinary)

  private lazy val types: Unit = execute(
    "CREATE EXTENSION citext",
    "CREATE EXTENSION hstore",
    "CREATE TYPE mood AS ENUM ('sad', 'so so', 'NULL', 'it''s \"x\",\\', E'\\u00e4')",
    "CREATE TYPE moods AS RANGE (SUBTYPE = mood)"
  )

  private def hasXml: Boolean = Try(query("SELECT '<a/>'::xml")).isSuccess

  private def serverJson(table: String): Seq[String] =
    query(s"SELECT row_to_json(whole)::text FROM $table AS whole ORDER BY id").map(_.head.toString)

  private def literal(text: String): String = s"'${text.replace("'", "''")}'"

  ValueCorpus.all.zipWithIndex.foreach { case (corpus, n) =>
    on(s"${corpus.postgres} $n is read as ${corpus.spark.sql}, also in arrays and domains") {
      types
      assume(version >= corpus.since && (corpus.postgres != "xml" || hasXml))
      val table = s"t$n"
      execute(
        s"CREATE DOMAIN short$n AS ${corpus.postgres}",
        s"CREATE DOMAIN long$n AS short$n",
        s"CREATE TABLE $table (id int, v ${corpus.postgres}, d long$n, a ${corpus.postgres}[], e long$n[])",
        s"INSERT INTO $table VALUES ${corpus.literals.zipWithIndex
            .map { case (text, i) => s"($i, ${literal(text)}, ${literal(text)})" }
            .mkString(", ")}, (999, NULL, NULL)",
        s"INSERT INTO $table SELECT 1000, NULL, NULL, array_agg(v ORDER BY id), array_agg(d ORDER BY id) FROM $table",
        s"INSERT INTO $table VALUES (1001, NULL, NULL, '{}', '{}')",
        s"INSERT INTO $table SELECT 1002, NULL, NULL, array_fill(v, ARRAY[2], ARRAY[-3]), array_fill(d, ARRAY[1], ARRAY[7]) FROM $table WHERE id = 0"
      )
      val described = columns(table)
      val schema = ValueReader.schema(table, described)
      assert(
        schema.map(_.dataType) == Seq(
          IntegerType,
          corpus.spark,
          corpus.spark,
          ArrayType(corpus.spark),
          ArrayType(corpus.spark)))

      def value(text: String): Any = plain(corpus.convert(text), corpus.spark)
      val one = s"CASE WHEN v IS NULL THEN NULL ELSE ${corpus.expected} END"
      def of(column: String): String = s"(SELECT $one FROM (SELECT x.$column AS v) AS y)"
      def elements(column: String): String =
        s"CASE WHEN x.$column IS NULL THEN NULL ELSE ARRAY(SELECT $one FROM unnest(x.$column) WITH ORDINALITY AS u(v, n) ORDER BY n) END"
      val expected =
        query(s"SELECT id, ${of("v")}, ${of("d")}, ${elements("a")}, ${elements("e")} FROM $table x ORDER BY id")
          .map(_.map {
            case texts: Seq[_] => texts.map(text => if (text == null) null else value(text.toString))
            case text: String  => value(text)
            case other         => other
          })

      assert(expected.size == corpus.literals.size + 4)
      assert(byText(table, schema) == expected)
      assert(new RowReader(table, described, schema).hasBinary == corpus.isBinary)
      if (corpus.isBinary) assert(byBinary(table, schema) == expected)
      // A cast makes an object of hstore.
      if (corpus.postgres != "hstore") assert(asJson(table, TableKey.printed) == serverJson(table))

      val texts = StructType(schema.map(_.copy(dataType = StringType)))
      val printed = "id,v,d,a,e".split(',').map(c => s"CASE WHEN $c IS NULL THEN NULL ELSE format('%s', $c) END")
      assert(
        byText(table, texts) == query(s"SELECT ${printed.mkString(", ")} FROM $table ORDER BY id")
          .map(_.map(text => if (text == null) null else UTF8String.fromString(text.toString))))
    }
  }

  on("composite values are JSON as by row_to_json, also nested, in arrays and in domains") {
    types
    execute(
      "CREATE TYPE small AS (\"a \"\"b\" int, t text, z timestamptz)",
      "CREATE DOMAIN flag AS boolean",
      """CREATE TYPE large AS (b flag, i int, n numeric, f float8, t text, d date, s timestamp, z timestamptz, j json,
        |  jb jsonb, by bytea, m mood, r int4range, a int[], deep text[][], s1 small, ss small[], u uuid, iv interval,
        |  boxes box[], o oid, last text)""".stripMargin,
      "CREATE TYPE single AS (x int[])",
      "CREATE DOMAIN larger AS large",
      "CREATE TABLE composites (id int, v large, w larger, a large[], x single)",
      s"""INSERT INTO composites SELECT n, ROW(n % 2 = 0, n, (ARRAY['NaN', '1.50', '-1e-10'])[n]::numeric,
         |  (ARRAY['NaN', '1e300', '-Infinity'])[n]::float8, (ARRAY[${ValueCorpus.texts.map(literal).mkString(", ")}])[n],
         |  (ARRAY['infinity', '0044-03-15 BC', '2026-01-31'])[n]::date,
         |  (ARRAY['-infinity', '0044-03-15 10:00 BC', '2026-01-31 10:00:00.5'])[n]::timestamp,
         |  (ARRAY['infinity', '0044-03-15 10:00+00 BC', '294276-12-31 10:00:00.5+00'])[n]::timestamptz,
         |  '{"a":  [1, "x\\n"]}', '{"a":  [1, "x\\n"]}', '\\x00ff', 'it''s "x",\\', '[1,5)',
         |  (ARRAY['{1,NULL,3}', '{}', '[5:5]={1}'])[n]::int[], '[0:1][0:1]={{a,"NULL"},{NULL,"c \\" d"}}',
         |  ROW(n, 'q"(\\', '2026-01-01 00:00+00')::small, ARRAY[ROW(NULL, '', NULL)::small, NULL, ROW(1, ' ', 'infinity')::small],
         |  'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380aff', '1 day', '{(1,1),(0,0);(2,2),(1,1)}', 7, NULL)::large
         |FROM generate_series(1, ${ValueCorpus.texts.size}) AS n""".stripMargin,
      "INSERT INTO composites VALUES (100, NULL)",
      s"INSERT INTO composites VALUES (101, ROW(${"NULL, " * 21} '')::large)",
      "UPDATE composites SET w = v, x = ROW(ARRAY[id]), a = ARRAY[v, NULL, v]",
      "INSERT INTO composites VALUES (102, NULL, NULL, '{}', ROW(NULL))"
    )
    val table = "composites"
    val schema = ValueReader.schema(table, columns(table))
    assert(schema.map(_.dataType) == Seq(IntegerType, StringType, StringType, ArrayType(StringType), StringType))
    val expected = query(
      """SELECT id, row_to_json(v)::text, row_to_json(w)::text, CASE WHEN x.a IS NULL THEN NULL ELSE
        |  ARRAY(SELECT row_to_json(e)::text FROM generate_subscripts(x.a, 1) AS n, LATERAL (SELECT x.a[n] AS e) AS y ORDER BY n)
        |END, row_to_json(x.x)::text FROM composites x ORDER BY id""".stripMargin).map(_.map {
      case text: String  => UTF8String.fromString(text)
      case texts: Seq[_] => texts.map(text => if (text == null) null else UTF8String.fromString(text.toString))
      case other         => other
    })
    val found = byText(table, schema)
    found.zip(expected).foreach { case (row, right) => assert(row == right) }
    assert(found.size == expected.size && !new RowReader(table, columns(table), schema).hasBinary)
    assert(asJson(table, TableKey.printed) == serverJson(table))
    val ofColumns = columns(table).map(column => column.kind.oid.toInt -> column.kind).toMap
    val byOid = CatalogColumns.types(connection, 1 +: ofColumns.keys.toSeq)
    assert(byOid.keySet == ofColumns.keySet)
    ofColumns.foreach { case (oid, kind) => assert(byOid(oid).copy(modifier = -1) == kind.copy(modifier = -1)) }
  }

  on("a value that is stored before its composite type gains an attribute has NULL there, a later one is refused") {
    execute(
      "CREATE TYPE growing AS (x int)",
      "CREATE TABLE grown (id int, v growing)",
      "INSERT INTO grown VALUES (1, ROW(1))")
    val before = columns("grown")
    execute("ALTER TYPE growing ADD ATTRIBUTE y int")
    val schema = ValueReader.schema("grown", before)
    assert(byText("grown", schema) == Seq(Seq[Any](1, UTF8String.fromString("{\"x\":1,\"y\":null}"))))
    val error = intercept[EpochalException](
      new RowReader("grown", before, schema).tuple(TestTuple.of(1, "(1,2)"), 0, new Array[Any](2)))
    assert(error.condition == Conditions.ValueUnsupported && error.getMessage.contains("Start the query again"))
  }

  /** A value that is refused in both formats, with an instruction that reads it. */
  private def refused(postgres: String, value: String, since: Int = 13, as: Option[DataType] = None)(
      reason: String): Unit =
    on(s"$value in a column $postgres is refused, and read as STRING by the error's instruction") {
      assume(version >= since)
      execute(
        "DROP TABLE IF EXISTS bad",
        s"CREATE TABLE bad (id int, \"a b\" $postgres, c text)",
        s"INSERT INTO bad VALUES (1, '$value', 'x')")
      val default = ValueReader.schema("public.bad", columns("bad"))
      val schema =
        as.fold(default)(kind => StructType(default.map(f => if (f.name == "a b") f.copy(dataType = kind) else f)))
      formats.foreach { read =>
        val error = intercept[EpochalException](read("bad", schema))
        assert(error.condition == Conditions.ValueUnsupported)
        assert(
          error.values.view.filterKeys(Set("table", "column", "sparkType", "reason")).toMap == Map(
            "table" -> "bad",
            "column" -> "a b",
            "sparkType" -> schema("a b").dataType.sql,
            "reason" -> reason))
        assert(error.values("columnType") == query(
          "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'bad'::regclass AND attname = 'a b'").head.head)
        val ddl = "(?<=[.]schema[(]\").*(?=\"[)])".r.findFirstIn(error.getMessage).get
        val followed = StructType.fromDDL(ddl)
        assert(followed.map(_.dataType) == Seq(IntegerType, StringType, StringType))
        val printed = query("SELECT format('%s', \"a b\") FROM bad").head.head.toString
        assert(byText("bad", followed) == Seq(Seq[Any](1, UTF8String.fromString(printed), UTF8String.fromString("x"))))
      }
    }

  private val late = "it is later than 294247-01-10 04:00:54.775807, where Spark's timestamps end"
  private val several = "it is an array of more than one dimension"
  refused("numeric(10,2)", "NaN")("it is NaN")
  refused("numeric(5,2)[]", "{1,NaN}")("it is NaN")
  refused("numeric", "Infinity", since = 14, as = Some(DecimalType(38, 10)))("it is Infinity")
  refused("numeric", "-Infinity", since = 14, as = Some(DecimalType(38, 10)))("it is -Infinity")
  refused("numeric", "0.125", as = Some(DecimalType(10, 2)))("it has more digits after the point than DECIMAL(10,2)")
  refused("numeric", "0." + "0" * 40 + "1", as = Some(DecimalType(38, 10)))(
    "it has more digits after the point than DECIMAL(38,10)")
  refused("numeric", "100000000", as = Some(DecimalType(10, 2)))(
    "it has more digits before the point than DECIMAL(10,2)")
  refused("numeric", "1" + "0" * 1000, as = Some(DecimalType(38, 0)))(
    "it has more digits before the point than DECIMAL(38,0)")
  refused("date", "infinity")("it is infinity")
  refused("date", "-infinity")("it is -infinity")
  refused("timestamp", "infinity")("it is infinity")
  refused("timestamptz", "-infinity")("it is -infinity")
  refused("timestamp", "294247-01-10 04:00:54.775808")(late)
  refused("timestamptz", "294276-12-31 23:59:59.999999+00")(late)
  refused("int[]", "{{1,2},{3,4}}")(several)
  refused("text[]", "[2:2][3:4]={{a,b}}")(several)

  on("a numeric without precision is read as a DECIMAL in which it fits") {
    execute(
      "CREATE TABLE fitting (id int, v numeric)",
      "INSERT INTO fitting VALUES (1, 1.5), (2, 100), (3, 1e20), (4, 0.00), (5, -12345678.25000), (6, 123456789012345678901234567.5)")
    val schema = new StructType().add("id", IntegerType).add("v", DecimalType(38, 2))
    val expected =
      Seq("1.50", "100.00", "100000000000000000000.00", "0.00", "-12345678.25", "123456789012345678901234567.50")
    formats.foreach(read => assert(read("fitting", schema).map(_(1).toString) == expected))
  }

  on("the catalog describes columns by name and number, without dropped ones") {
    execute(
      "CREATE DOMAIN amount AS numeric(6,2)",
      "CREATE DOMAIN cost AS amount",
      "CREATE SCHEMA \"o s\"",
      "CREATE TYPE \"o s\".uuid AS ENUM ('x')",
      "CREATE TABLE described (a int, gone text, \"B \"\"b\" cost, c varchar(3)[], d \"o s\".uuid, e regclass) PARTITION BY LIST (a)",
      "ALTER TABLE described DROP COLUMN gone"
    )
    val found = columns("described")
    assert(found.map(_.name) == Seq("a", "B \"b", "c", "d", "e"))
    assert(
      found.map(_.kind.declaration) == Seq("integer", "cost", "character varying(3)[]", "\"o s\".uuid", "regclass"))
    val relation = query(
      "SELECT atttypid::bigint, atttypmod FROM pg_attribute WHERE attrelid = 'described'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum")
    assert(found.map(column => Seq[Any](column.kind.oid, column.modifier)) == relation)
    assert(found(1).kind.numeric == Some((6, 2)) && found(1).modifier == -1)
    assert(found(3).kind.name == "o s.uuid" && found(3).kind.shape == PostgresType.Enum(Seq("x")))
    val error = intercept[EpochalException](ValueReader.schema("described", found))
    assert(error.condition == Conditions.ColumnUnsupported && error.values("column") == "e")
    assert(error.getMessage.contains(".schema(\"a INT,`B \"b` DECIMAL(6,2),c ARRAY<STRING>,d STRING,e STRING\")"))
  }
}
