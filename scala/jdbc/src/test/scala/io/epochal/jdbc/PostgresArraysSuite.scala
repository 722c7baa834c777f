package io.epochal.jdbc

import scala.util.Using

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen
import org.scalacheck.rng.Seed

import io.epochal.core.error.Conditions

/** Arrays, verified by a real PostgreSQL. */
final class PostgresArraysSuite extends SinkSuite(Postgres) {

  private val kinds = PostgresKind.scalars
  private val schema = StructType(
    StructField("id", LongType) +: kinds.indices.map(i => StructField(s"c$i", ArrayType(kinds(i).spark))))
  private val ddl =
    s"CREATE TABLE t (id BIGINT, ${kinds.indices.map(i => s"c$i ${kinds(i).postgres}[]").mkString(", ")})"

  onSchema("arrays of every scalar type read back unchanged, including NULLs and empty arrays", schema, ddl) { f =>
    val seed = Seed.random()
    info(s"seed ${seed.toBase64}")
    val arrays = kinds.map(kind =>
      Gen.frequency[Seq[Any]](
        8 -> Gen.listOf(Gen.frequency[Any](9 -> kind.values, 1 -> Gen.const(null))),
        1 -> Gen.const(Nil),
        1 -> Gen.const(null)))
    val rows = Gen
      .listOfN(300, Gen.sequence[Seq[Seq[Any]], Seq[Any]](arrays))
      .pureApply(Gen.Parameters.default.withSize(12), seed)
    write(
      f,
      f.newRun(query),
      0,
      rows.zipWithIndex.map { case (values, i) =>
        InternalRow.fromSeq(i.toLong +: values.map(v => if (v == null) null else array(v: _*)))
      })
    Using.resource(f.database.connect()) { connection =>
      kinds.zipWithIndex.foreach { case (kind, i) =>
        val found = connection
          .createStatement()
          .executeQuery(
            s"SELECT id, cardinality(c$i), v FROM t LEFT JOIN LATERAL unnest(c$i) WITH ORDINALITY AS u(v, place) ON true ORDER BY id, place")
        rows.zipWithIndex.foreach { case (values, id) =>
          val elements = values(i)
          val lines = if (elements == null || elements.isEmpty) Seq(null) else elements
          lines.foreach { element =>
            assert(found.next() && found.getLong(1) == id.toLong)
            assert(found.getObject(2) == (if (elements == null) null else elements.size))
            if (element == null) assert(found.getObject(3) == null)
            else assert(kind.read(found, 3) == kind.stored(element), s"${kind.spark} in ${kind.postgres}[]")
          }
        }
        assert(!found.next())
      }
    }
  }

  private def array(values: Any*): GenericArrayData = new GenericArrayData(values.toArray[Any])
  private def text(value: String): UTF8String = UTF8String.fromString(value)

  onSchema(
    "a large array arrives complete",
    new StructType().add("id", LongType).add("a", ArrayType(StringType)),
    "CREATE TABLE t (id BIGINT, a TEXT[])") { f =>
    val words = (0 until 200000).map(n => text("x" * (n % 30)))
    write(f, f.newRun(query), 0, Seq(1, 2, 3).map(n => InternalRow(n.toLong, array(words: _*))))
    assert(
      f.database.one(
        "SELECT count(*) FROM t, unnest(a) WITH ORDINALITY AS u(v, n) WHERE length(v) = (n - 1) % 30") == 600000L)
  }

  onSchema(
    "an element that does not fit is a bad row that names the element",
    new StructType().add("id", LongType).add("a", ArrayType(StringType)),
    "CREATE TABLE t (id BIGINT, a VARCHAR(3)[])") { f =>
    val error = refused(Conditions.BadRow)(
      write(f, f.newRun(query), 0, Seq(InternalRow(1L, array(text("abc"), null, text("abcd"))))))
    assert(error.values("column") == "a" && error.values("reason") == "element 3: it has more than 3 characters")
  }

  onSchema(
    "elements are stored in every type that accepts them as scalars",
    new StructType()
      .add("id", LongType)
      .add("a", ArrayType(StringType))
      .add("b", ArrayType(StringType))
      .add("c", ArrayType(new StructType().add("x", IntegerType)))
      .add("d", ArrayType(DecimalType(30, 10))),
    "CREATE TYPE mood AS ENUM ('sad', 'happy')",
    "CREATE DOMAIN amount AS NUMERIC(8,3) NOT NULL",
    "CREATE TABLE t (id BIGINT, a UUID[], b mood[], c JSONB[], d amount[])"
  ) { f =>
    val run = f.newRun(query)
    val uuid = "5b3c9f0e-0000-4000-8000-00000000000a"
    def row(mood: String, amount: Any): InternalRow = InternalRow(
      1L,
      array(text(uuid), null),
      array(text(mood)),
      array(InternalRow(7), null, InternalRow(null)),
      array(amount))
    val good = Decimal(new java.math.BigDecimal("12345.678"), 30, 10)
    write(f, run, 0, Seq(row("happy", good)))
    assert(
      f.database.query("SELECT a::text, b::text, c::text, d::text FROM t") == Seq(
        Seq(s"{$uuid,NULL}", "{happy}", "{\"{\\\"x\\\": 7}\",NULL,\"{\\\"x\\\": null}\"}", "{12345.678}")))
    Seq(row("glad", good), row("sad", null), row("sad", Decimal(new java.math.BigDecimal("0.0001"), 30, 10)))
      .foreach(bad => refused(Conditions.BadRow)(write(f, run, 1, Seq(bad))))
  }

  onSchema(
    "an array of arrays goes into jsonb, not into an array",
    new StructType().add("a", ArrayType(ArrayType(IntegerType))),
    "CREATE TABLE t (a INTEGER[][])",
    "CREATE TABLE u (a JSONB)") { f =>
    refused(Conditions.ColumnTypeMismatch)(f.newRun(query))
    write(f, f.newRun(query, Map("dbtable" -> "u")), 0, Seq(InternalRow(array(array(1, null), array(), null))))
    assert(f.database.one("SELECT a::text FROM u") == "[[1, null], [], null]")
  }

  onSchema(
    "types without a column type are refused before the query starts",
    new StructType().add("a", NullType),
    "CREATE TABLE t (a TEXT)") { f =>
    refused(Conditions.TypeUnsupported)(f.newRun(query))
    val twice = StructType(Seq(StructField("x", IntegerType), StructField("x", IntegerType)))
    Seq(ArrayType(NullType), MapType(twice, StringType), twice, MapType(BinaryType, ArrayType(CalendarIntervalType)))
      .foreach { kind =>
        val fixture = new JdbcSinkFixture(f.database, new StructType().add("a", kind))
        refused(Conditions.TypeUnsupported)(fixture.newRun(query, Map("createTable" -> "true", "dbtable" -> "made")))
      }
  }

  onSchema(
    "maps are objects, with their keys as texts",
    new StructType().add("a", MapType(DateType, DoubleType)).add("b", MapType(StringType, StringType)),
    "CREATE TABLE t (a JSON, b JSONB)") { f =>
    val map = new ArrayBasedMapData(array(0, 1), array(Double.NaN, 1.5))
    val words = new ArrayBasedMapData(array(text("é\"\n"), text("")), array(null, text("\u0001")))
    write(f, f.newRun(query), 0, Seq(InternalRow(map, words), InternalRow(null, null)))
    assert(
      f.database.query("SELECT a::text, b ->> '', b ? E'é\"\\n' FROM t WHERE a IS NOT NULL") ==
        Seq(Seq[Any]("""{"1970-01-01":"NaN","1970-01-02":1.5}""", "\u0001", true)))
  }
}
