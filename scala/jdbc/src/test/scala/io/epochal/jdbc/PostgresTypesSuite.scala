package io.epochal.jdbc

import java.math.{BigDecimal => JavaDecimal}

import scala.util.Using

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String}
import org.scalacheck.Gen
import org.scalacheck.rng.Seed

import io.epochal.core.error.Conditions

/** Written values read back equal: a real PostgreSQL verifies our binary encoding. */
final class PostgresTypesSuite extends SinkSuite(Postgres) {

  private val kinds = PostgresKind.scalars

  private val schema = StructType(
    StructField("id", LongType) +: kinds.indices.map(i => StructField(s"c$i", kinds(i).spark)))
  private val ddl = s"CREATE TABLE t (id BIGINT, ${kinds.indices.map(i => s"c$i ${kinds(i).postgres}").mkString(", ")})"

  onSchema("every type reads back unchanged", schema, ddl) { f =>
    val seed = Seed.random()
    info(s"seed ${seed.toBase64}")
    val row = Gen.sequence[Seq[Any], Any](kinds.map(kind => Gen.frequency[Any](9 -> kind.values, 1 -> Gen.const(null))))
    val rows = Gen.listOfN(2000, row).pureApply(Gen.Parameters.default.withSize(30), seed)
    write(f, f.newRun(query), 0, rows.zipWithIndex.map { case (values, i) => InternalRow.fromSeq(i.toLong +: values) })
    Using.resource(f.database.connect()) { connection =>
      val found = connection.createStatement().executeQuery("SELECT * FROM t ORDER BY id")
      rows.foreach { values =>
        assert(found.next())
        kinds.zip(values).zipWithIndex.foreach { case ((kind, value), i) =>
          if (value == null) assert(found.getObject(i + 2) == null, s"${kind.spark} NULL")
          else
            assert(kind.read(found, i + 2) == kind.stored(value), s"${kind.spark} into ${kind.postgres}: wrote $value")
        }
      }
      assert(!found.next())
    }
  }

  onSchema(
    "a table created for the query has columns for all its types",
    StructType(kinds.map(_.spark).distinct.zipWithIndex.map { case (kind, i) =>
      StructField(s"c$i", kind)
    })) { f =>
    val options = Map("sinkId" -> "sink", "createTable" -> "true")
    write(f, f.newRun(query, options), 0, Seq(InternalRow.fromSeq(f.schema.map(_ => null))))
    write(f, f.newRun(query, options), 1, Seq(InternalRow.fromSeq(f.schema.map(_ => null))))
    assert(f.database.one("SELECT count(*) FROM t") == 2L)
  }

  /** Values at and beyond the limits of a column. */
  private def edges(kind: DataType, postgres: String)(good: Any*)(bad: Any*): Unit =
    onSchema(
      s"$kind into $postgres: what does not fit is a bad row, and nothing is rounded",
      new StructType().add("id", LongType).add("a", kind),
      s"CREATE TABLE t (id BIGINT, a $postgres)") { f =>
      val run = f.newRun(query)
      write(f, run, 0, good.zipWithIndex.map { case (value, i) => InternalRow(i.toLong, value) })
      holds(f, good.indices)
      bad.foreach { value =>
        assert(refused(Conditions.BadRow)(write(f, run, 1, Seq(InternalRow(0L, value)))).values("column") == "a", value)
      }
    }

  private def d(text: String, precision: Int, scale: Int): Decimal = Decimal(new JavaDecimal(text), precision, scale)

  edges(DecimalType(10, 4), "numeric(6,2)")(d("9999.99", 10, 4), d("-9999.9900", 10, 4), d("0", 10, 4))(
    d("0.001", 10, 4),
    d("10000", 10, 4),
    d("-99999.99", 10, 4))
  edges(DecimalType(38, 10), "numeric(5,-2)")(d("1234500", 38, 10), d("0", 38, 10))(
    d("12345", 38, 10),
    d("123456700", 38, 10))
  edges(LongType, "numeric(5,2)")(999L, -999L, 0L)(1000L, -1000L, Long.MinValue, Long.MaxValue)
  edges(StringType, "varchar(3)")(UTF8String.fromString("äöü"), UTF8String.fromString("日本語"))(
    UTF8String.fromString("four"),
    UTF8String.fromString("abc "))
  edges(TimestampType, "timestamptz(3)")(1000L, -5000L)(1L, -1001L)
  edges(DateType, "date")(0, 2921939 * 30, -2440588)(Int.MaxValue, Int.MinValue, -2440589)
  edges(TimestampType, "timestamptz")(Long.MaxValue, -210866803200000000L)(Long.MinValue, -210866803200000001L)
  edges(DecimalType(38, 38), "numeric(4,4)")(d("0.1234", 38, 38), d("-0.9999", 38, 38), d("0", 38, 38))(
    d("0.12345", 38, 38),
    d("0.00000000000000000000000000000000000001", 38, 38))
  edges(DecimalType(38, 0), "numeric(3,5)")(d("0", 38, 0))(d("1", 38, 0), d("-" + "9" * 38, 38, 0))
  edges(DecimalType(38, 4), "numeric(1000,4)")(d("9" * 34 + ".9999", 38, 4), d("-" + "9" * 34 + ".9999", 38, 4))()
  edges(TimeType(6), "time(2)")(0L, 86399990000000L)(1000L, 86399999999000L)
  edges(DayTimeIntervalType(), "interval(0)")(5000000L, -3000000L, 0L)(5000001L, Long.MaxValue)
  edges(DayTimeIntervalType(), "interval minute to second (3)")(Long.MinValue / 1000 * 1000, 1000L)(1L, -999L)

  private val intervals = new StructType()
    .add("id", LongType)
    .add("a", DayTimeIntervalType())
    .add("b", YearMonthIntervalType())
    .add("c", CalendarIntervalType)
    .add("d", YearMonthIntervalType())
  private val intervalTable =
    "CREATE TABLE t (id BIGINT, a INTERVAL, b INTERVAL, c INTERVAL DAY TO SECOND, d INTERVAL YEAR TO MONTH)"

  onSchema("intervals keep their months, days and microseconds", intervals, intervalTable) { f =>
    val value = for {
      micros <- PostgresKind.longs; months <- PostgresKind.ints; days <- Gen.choose(-1000000, 1000000);
      time <- PostgresKind.longs
    } yield (micros, months, new CalendarInterval(months, days, time))
    val extremes = Seq(
      (Long.MaxValue, Int.MaxValue, new CalendarInterval(Int.MaxValue, 0, Long.MaxValue)),
      (Long.MinValue, Int.MinValue, new CalendarInterval(Int.MinValue, 0, Long.MinValue)))
    val values = extremes ++ Gen.listOfN(500, value).pureApply(Gen.Parameters.default, Seed.random())
    val rows = values.zipWithIndex.map { case ((micros, months, all), i) =>
      InternalRow(i.toLong, micros, months, all, months)
    }
    write(f, f.newRun(query), 0, rows)
    // interval_send: int64 microseconds, int32 days, int32 months
    def sent(micros: Long, days: Int, months: Int): String =
      "%016x%08x%08x".formatLocal(java.util.Locale.ROOT, micros, days, months)
    val found = f.database.query(
      "SELECT encode(interval_send(a), 'hex'), encode(interval_send(b), 'hex'), encode(interval_send(c), 'hex'), encode(interval_send(d), 'hex') FROM t ORDER BY id")
    assert(found == values.map { case (micros, months, all) =>
      val inMonths = sent(0, 0, months)
      Seq[Any](sent(micros, 0, 0), inMonths, sent(all.microseconds, all.days, all.months), inMonths)
    })
    assert(f.database.one(
      "SELECT count(*) FROM t WHERE id = 0 AND EXTRACT(EPOCH FROM a) = 9223372036854.775807 AND b = make_interval(months => 2147483647)") == 1L)
  }

  onSchema(
    "an interval that PostgreSQL would read as infinity is a bad row",
    new StructType().add("id", LongType).add("a", CalendarIntervalType),
    "CREATE TABLE t (id BIGINT, a INTERVAL)") { f =>
    Seq(
      new CalendarInterval(Int.MaxValue, Int.MaxValue, Long.MaxValue),
      new CalendarInterval(Int.MinValue, Int.MinValue, Long.MinValue)).foreach { interval =>
      assert(
        refused(Conditions.BadRow)(write(f, f.newRun(query), 0, Seq(InternalRow(0L, interval)))).getMessage
          .contains("infinity"))
    }
  }
}
