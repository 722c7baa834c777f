package io.epochal.random

import java.nio.charset.StandardCharsets.UTF_8

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.core.error.Conditions

/** Planning, strings and options, without a Spark session. */
final class RandomRowsSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private def ids(slices: Seq[RandomSlice]): Seq[Long] = slices.flatMap(s => s.first until s.end by s.step)

  private val ragged = for {
    rows <- Gen.choose(0L, 50L)
    counts <- Gen.choose(0, 5).flatMap(Gen.listOfN(_, Gen.choose(0L, 9L)))
    rowZero <- Gen.option(Gen.choose(0L, 1L << 50))
  } yield RandomPosition(rows, 0, counts.toVector, rowZero)

  /** The ids that a position counts as delivered. */
  private def delivered(p: RandomPosition): Set[Long] =
    (0L until p.rows).toSet ++ p.partitions.zipWithIndex.flatMap { case (count, i) =>
      (0L until count).map(k => p.rows + i + k * p.partitions.size)
    }

  test("a plan covers every undelivered id once, on any number of partitions") {
    forAll(ragged, Gen.choose(0L, 40L), Gen.choose(1, 9)) { (start, more, partitions) =>
      val end = RandomPosition(start.highWater + more, 0)
      val planned = ids(RandomPlan.slices(start, end, partitions))
      assert(planned.sorted == (0L until end.rows).filterNot(delivered(start)))
    }
  }

  test("the high water is above every delivered id, and `delivered` counts them") {
    forAll(ragged) { position =>
      assert(position.highWater == delivered(position).maxOption.fold(0L)(_ + 1))
      assert(position.deliveredRows == delivered(position).size)
      assert(delivered(position.normal) == delivered(position))
    }
  }

  test("a position survives the round trip through JSON") {
    forAll(ragged)(p => assert(RandomOffset.fromJson("s", RandomOffset.toJson("s", p)) == Right(p)))
  }

  test("offsets of this release stay readable") {
    val logged = """{"v":1,"format":"epochal-random","source":"s","rows":5,"startedAt":7,"partitions":[1,0]}"""
    assert(RandomOffset.fromJson("s", logged) == Right(RandomPosition(5, 7, Vector(1, 0))))
    assert(RandomOffset.toJson("s", RandomPosition(5, 7, Vector(1, 0))) == logged)
    val second = """{"v":2,"format":"epochal-random","source":"s","rows":5,"startedAt":7,"rowZero":946684800000000}"""
    assert(RandomOffset.fromJson("s", second) == Right(RandomPosition(5, 7, rowZero = Some(946684800000000L))))
  }

  test("a query keeps its timestamps when the default changes") {
    def options(more: (String, String)*) = RandomOptions.read(more.toMap).fold(throw _, identity)
    def first(source: String) = {
      val escaped = source.replace("\\", "\\\\").replace("\"", "\\\"")
      s"""{"v":1,"format":"epochal-random","source":"$escaped","rows":5,"startedAt":7}"""
    }
    def identity1970(alphabet: String) =
      s"seed=0 length=0..5 alphabet=$alphabet timestamps=1970-01-01T00:00:00Z+PT1S/10"
    val letters = "abcdefghijklmnopqrstuvwxyz"
    val quotes = "a\"\\/'"
    Seq(
      options() -> identity1970(letters),
      options("alphabet" -> quotes) -> identity1970(quotes),
      options("sourceId" -> "mine") -> "mine",
      options("sourceId" -> quotes) -> quotes
    ).foreach { case (read, source) =>
      val old = read.fromJson(first(source)).fold(throw _, identity)
      assert(read.rowZero(old) == 0 && read.toJson(old) == first(source))
      val now = read.begin(7)
      assert(read.rowZero(now) == 946684800000000L && read.fromJson(read.toJson(now)) == Right(now))
    }
    val explicit = options("startTimestamp" -> "2026-01-01T00:00:00Z")
    assert(explicit.rowZero(explicit.begin(7)) == 1767225600000000L)
    assert(
      explicit
        .fromJson(first(identity1970(letters)))
        .left
        .toOption
        .map(_.condition)
        .contains(Conditions.SourceChanged))
    val now = options().toJson(options().begin(7))
    assert(explicit.fromJson(now).left.toOption.map(_.condition).contains(Conditions.SourceChanged))
  }

  test("a row is available from its due time on, and not before") {
    forAll(Gen.choose(0L, 1000000L), Gen.choose(1L, 5000L)) { (id, rate) =>
      val due = RandomPlan.dueAt(id, rate, 1000)
      assert(RandomPlan.steadyRows(rate, 1000, due) > id && RandomPlan.steadyRows(rate, 1000, due - 1) <= id)
    }
  }

  private def text(strings: RandomStrings, id: Long): String = {
    val buffer = new Array[Byte](strings.maxBytes)
    new String(buffer, 0, strings.write(strings.start(id), strings.length(strings.start(id)), buffer, 0), UTF_8)
  }

  test("a string depends only on seed, id, lengths and alphabet") {
    forAll { (seed: Long, id: Long) =>
      assert(text(RandomStrings(seed, 0, 8, "abc"), id) == text(RandomStrings(seed, 0, 8, "abc"), id))
    }
    val some = (0L until 200L).map(text(RandomStrings(1, 8, 8, "abcdefgh"), _))
    assert(some.distinct.size > 190)
    assert(some != (0L until 200L).map(text(RandomStrings(2, 8, 8, "abcdefgh"), _)))
  }

  test("the strings of this release never change, so later releases replay its checkpoints") {
    val strings = RandomStrings(0, 0, 5, "abcdefghijklmnopqrstuvwxyz")
    assert((0L until 6L).map(text(strings, _)) == RandomRowsSuite.frozen)
  }

  test("lengths are uniform between the bounds, in characters of any size") {
    val strings = RandomStrings(3, 2, 5, "aß€😀")
    val lengths = (0L until 8000L).map { id =>
      val value = text(strings, id)
      assert(value.codePointCount(0, value.length) == strings.length(strings.start(id)))
      strings.length(strings.start(id))
    }
    val counts = lengths.groupBy(identity).map { case (length, all) => length -> all.size }
    assert(counts.keySet == Set(2, 3, 4, 5))
    assert(counts.values.forall(c => c > 1800 && c < 2200), counts)
  }

  test("contradicting options are refused by name") {
    def condition(options: (String, String)*) = RandomOptions.read(options.toMap).left.toOption.map(_.condition)
    assert(condition("rowsPerSecond" -> "1", "rowsPerBatch" -> "1").contains(Conditions.OptionConflict))
    assert(condition("minLength" -> "9", "maxLength" -> "3").contains(Conditions.OptionConflict))
    assert(condition("rowsPerSecnd" -> "1").contains(Conditions.OptionUnknown))
    assert(condition("numPartitions" -> "0").contains(Conditions.OptionInvalid))
    assert(condition("startTimestamp" -> "yesterday").contains(Conditions.OptionInvalid))
  }
}

object RandomRowsSuite {
  private val frozen = Seq("i", "lnlto", "rkbkb", "qyyno", "zt", "pcry")
}
