package io.epochal.kit.source

import java.time.Duration

import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.scalacheck.{Arbitrary, Gen}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.core.option.{OptionGroup, SourceOptions}

final class ReadLimitsSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  import ReadLimit._

  private def admit(limit: ReadLimit, rows: Long, after: Duration = Duration.ZERO, rowBytes: Long = 1): Long =
    ReadLimits.admit(limit, rows, bytes => bytes / rowBytes, after)

  private def all(limits: Seq[ReadLimit]): ReadLimit = compositeLimit(limits.toArray)

  private val simple: Gen[ReadLimit] = Gen.oneOf(
    Gen.const(allAvailable()),
    Gen.choose(1L, 100L).map(maxRows(_)),
    Gen.choose(1L, 1000L).map(maxBytes(_)),
    Gen.choose(1L, 100L).flatMap(n => Gen.choose(0L, 100L).map(s => minRows(n, s * 1000)))
  )
  implicit private val limits: Arbitrary[ReadLimit] =
    Arbitrary(Gen.oneOf(simple, Gen.listOf(simple).map(all)))
  private val backlogs = Gen.choose(0L, 200L)

  test("a minimum above the maximum, which no batch can reach, is refused") {
    val group = OptionGroup("test", "", SourceOptions.all)
    def refused(least: Long) = group
      .parse(Map("minRowsPerBatch" -> s"$least", "maxRowsPerBatch" -> "10"))
      .toOption
      .flatMap(ReadLimits.refused)
      .map(_.getMessage)
    assert(refused(11).exists(_.contains("minRowsPerBatch=10")) && refused(10).isEmpty)
  }

  test("no limit admits more than the backlog, or a negative number") {
    forAll(limits.arbitrary, backlogs, Gen.choose(0L, 200L)) { (limit, rows, seconds) =>
      val admitted = admit(limit, rows, Duration.ofSeconds(seconds), rowBytes = 7)
      assert(admitted >= 0 && admitted <= rows)
    }
  }

  test("no limit blocks rows for ever") {
    forAll(limits.arbitrary, backlogs.suchThat(_ > 0)) { (limit, rows) =>
      assert(admit(limit, rows, Duration.ofDays(1), rowBytes = 5000) > 0)
    }
  }

  test("a composite admits what its strictest member admits") {
    forAll(Gen.nonEmptyListOf(simple), backlogs, Gen.choose(0L, 200L)) { (members, rows, seconds) =>
      val wait = Duration.ofSeconds(seconds)
      assert(admit(all(members), rows, wait) == members.map(admit(_, rows, wait)).min)
    }
  }

  test("nothing is admitted above the ceiling") {
    forAll(limits.arbitrary, backlogs) { (limit, rows) =>
      assert(admit(limit, rows, Duration.ofDays(1)) <= ReadLimits.ceiling(limit))
    }
  }

  test("a maximum caps the batch") {
    assert(admit(maxRows(10), 25) == 10 && admit(maxRows(10), 3) == 3)
  }

  test("a minimum waits until it is reached or its delay has passed") {
    val limit = minRows(10, 60000)
    assert(admit(limit, 9) == 0)
    assert(admit(limit, 10) == 10)
    assert(admit(limit, 9, Duration.ofSeconds(59)) == 0)
    assert(admit(limit, 9, Duration.ofSeconds(60)) == 9)
    assert(admit(limit, 0, Duration.ofSeconds(60)) == 0)
  }

  test("a limit in bytes admits whole rows, and one row that is larger than the limit") {
    assert(admit(maxBytes(100), 50, rowBytes = 30) == 3)
    assert(admit(maxBytes(10), 50, rowBytes = 30) == 1)
  }

  test("a minimum with a maximum takes at most the maximum once the minimum is met") {
    val limit = all(Seq(minRows(10, 60000), maxRows(15)))
    assert(admit(limit, 9) == 0 && admit(limit, 20) == 15)
  }
}
