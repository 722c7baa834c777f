package io.epochal.jdbc

import java.nio.charset.StandardCharsets.UTF_8

import com.fasterxml.jackson.core.JsonFactory
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.types.variant.VariantBuilder
import org.apache.spark.unsafe.types.{UTF8String, VariantVal}
import org.scalacheck.Gen
import org.scalacheck.rng.Seed

import io.epochal.core.error.Conditions
import io.epochal.kit.spark.JsonRowParser

/** Structs, maps and variants in json and jsonb. */
final class PostgresJsonSuite extends SinkSuite(Postgres) {

  private val scalars = Seq(
    BooleanType -> Gen.oneOf(true, false),
    ByteType -> Gen.choose(Byte.MinValue, Byte.MaxValue),
    IntegerType -> PostgresKind.ints,
    LongType -> PostgresKind.longs,
    FloatType -> PostgresKind.floats,
    DoubleType -> PostgresKind.doubles,
    DecimalType(12, 3) -> PostgresKind.decimals(12, 3),
    DecimalType(38, 20) -> PostgresKind.decimals(38, 20),
    StringType -> PostgresKind.texts,
    BinaryType -> Gen.listOf(Gen.choose(Byte.MinValue, Byte.MaxValue)).map(_.toArray),
    DateType -> PostgresKind.days,
    TimestampType -> PostgresKind.micros,
    TimestampNTZType -> PostgresKind.micros
  )

  private def nullable(values: Gen[Any]): Gen[Any] = Gen.frequency(9 -> values, 1 -> Gen.const(null))

  private def struct(of: Seq[(DataType, Gen[Any])]): (StructType, Gen[Any]) =
    (
      StructType(of.zipWithIndex.map { case ((kind, _), i) => StructField(s"f $i \"é", kind) }),
      Gen.sequence[Seq[Any], Any](of.map(field => nullable(field._2))).map(InternalRow.fromSeq(_)))

  private def array(element: (DataType, Gen[Any])): (DataType, Gen[Any]) =
    ArrayType(element._1) -> Gen.listOf(nullable(element._2)).map(values => new GenericArrayData(values.toArray[Any]))

  private def map(value: (DataType, Gen[Any])): (DataType, Gen[Any]) =
    MapType(StringType, value._1) -> Gen.listOf(Gen.zip(PostgresKind.texts, nullable(value._2))).map { entries =>
      val (keys, values) = entries.distinctBy(_._1).unzip
      new ArrayBasedMapData(new GenericArrayData(keys.toArray[Any]), new GenericArrayData(values.toArray[Any]))
    }

  /** Every type nested in every other. */
  private val (nested, values) = struct(
    scalars ++ scalars.map(array) ++ scalars.map(map) ++
      Seq[(DataType, Gen[Any])](struct(scalars), array(struct(scalars)), map(array(array(struct(scalars.take(5)))))))

  private val schema = new StructType().add("id", LongType).add("a", nested).add("b", nested)

  onSchema(
    "a nested value in json is parsed by Spark to an equal value, and jsonb contains the same",
    schema,
    "CREATE TABLE t (id BIGINT, a JSON, b JSONB)") { f =>
    val seed = Seed.random()
    info(s"seed ${seed.toBase64}")
    val all = Gen.listOfN(300, values).pureApply(Gen.Parameters.default.withSize(6), seed)
    write(f, f.newRun(query), 0, all.zipWithIndex.map { case (value, i) => InternalRow(i.toLong, value, value) })
    val parser = new JsonRowParser(nested, "UTC")
    val bytes = UnsafeProjection.create(nested)
    val found = f.database.query("SELECT a::text FROM t ORDER BY id").map(_.head.toString)
    assert(found.size == all.size)
    all.zip(found).foreach { case (written, text) =>
      val json = new JsonFactory().createParser(text.getBytes(UTF_8))
      json.nextToken()
      val read = bytes(parser.row(json)).getBytes.toSeq
      assert(read == bytes(written.asInstanceOf[InternalRow]).getBytes.toSeq, text)
    }
    assert(f.database.one("SELECT count(*) FROM t WHERE a::jsonb = b") == all.size.toLong)
  }

  onSchema(
    "a struct has one form in JSON",
    new StructType().add(
      "a",
      new StructType()
        .add("n", DoubleType)
        .add("d", DecimalType(10, 2))
        .add("x", BinaryType)
        .add("t", TimestampType)
        .add("l", TimestampNTZType)
        .add("i", DayTimeIntervalType())
        .add("m", YearMonthIntervalType())
        .add("c", TimeType(6))
        .add("none", StringType)),
    "CREATE TABLE t (a JSON)"
  ) { f =>
    val value = InternalRow(
      Double.NegativeInfinity,
      Decimal(new java.math.BigDecimal("1.50"), 10, 2),
      Array[Byte](1, -1),
      1767225600000001L,
      -62135596800000000L,
      -93784000001L,
      -14,
      3600000000000L,
      null)
    write(f, f.newRun(query), 0, Seq(InternalRow(value)))
    assert(
      f.database.one("SELECT a::text FROM t") == Seq(
        """"n":"-Infinity","d":1.50,"x":"Af8=","t":"2026-01-01T00:00:00.000001Z"""",
        """"l":"0001-01-01T00:00:00.000000","i":"PT-26H-3M-4.000001S","m":"P-1Y-2M","c":"01:00:00.000000"""",
        """"none":null"""
      ).mkString("{", ",", "}"))
    assert(
      f.database.query(
        "SELECT (a ->> 'i')::interval = '-26:03:04.000001', (a ->> 'm')::interval = '-14 months' FROM t") ==
        Seq(Seq(true, true)))
  }

  private def variant(json: String): VariantVal = {
    val parsed = VariantBuilder.parseJson(json, false)
    new VariantVal(parsed.getValue, parsed.getMetadata)
  }

  onSchema(
    "a variant is stored as its JSON, and a NUL in it is found",
    new StructType().add("id", LongType).add("a", VariantType).add("b", ArrayType(VariantType)),
    "CREATE TABLE t (id BIGINT, a JSONB, b JSONB)") { f =>
    val texts = Seq("""{"b": [1, 2.50, null], "a": {"x": "é\n"}}""", "\"text\"", "1e300", "true", "[]")
    val run = f.newRun(query)
    write(
      f,
      run,
      0,
      texts.zipWithIndex.map { case (text, i) =>
        InternalRow(i.toLong, variant(text), new GenericArrayData(Array[Any](variant(text), null)))
      })
    texts.zipWithIndex.foreach { case (text, i) =>
      assert(
        f.database.one(s"SELECT a = '$text'::jsonb AND b = jsonb_build_array(a, NULL) FROM t WHERE id = $i") == true,
        text)
    }
    val nul = variant("\"a\\u0000b\"")
    refused(Conditions.BadRow)(write(f, run, 1, Seq(InternalRow(1L, nul, null))))
    refused(Conditions.BadRow)(
      write(f, run, 1, Seq(InternalRow(1L, new VariantVal(Array[Byte](2, 1, 7), Array[Byte](1, 0, 0)), null))))
    write(f, f.newRun(query, Map("sinkId" -> "sink", "nulCharacter" -> "strip")), 1, Seq(InternalRow(9L, nul, null)))
    assert(f.database.one("SELECT a ->> 0 FROM t WHERE id = 9") == "ab")
  }

  onSchema(
    "a text of many chunks arrives complete",
    new StructType().add("id", LongType).add("a", new StructType().add("x", StringType)),
    "CREATE TABLE t (id BIGINT, a JSONB)") { f =>
    val long = UTF8String.fromString("é\"" * 2000000)
    write(f, f.newRun(query), 0, Seq(InternalRow(1L, InternalRow(long)), InternalRow(2L, InternalRow(null))))
    assert(f.database.one("SELECT length(a ->> 'x') FROM t WHERE id = 1") == 4000000)
  }
}
