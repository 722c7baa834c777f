package io.epochal.testkit

import java.nio.file.{Files, Path}

import org.apache.spark.sql.connector.read.streaming.{
  MicroBatchStream,
  Offset,
  ReadLimit,
  ReportsSourceMetrics,
  SupportsAdmissionControl,
  SupportsTriggerAvailableNow
}
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.Conditions

/** What every micro-batch source must do. Mix it into a suite and give it the source:
  *
  * {{{
  * final class MySourceSuite extends SourceChecks {
  *   override def sourceName = "my-source"
  *   override def newFixture() = new SourceFixture { … }
  * }
  * }}}
  *
  * Offsets are taken to be exclusive, to be JSON with a version field `"v"`, and `latestOffset` to honour read limits.
  */
trait SourceChecks extends AnyFunSuite with Refusals {

  def sourceName: String

  /** A fresh origin with no rows. */
  def newFixture(): SourceFixture

  private def check(claim: String)(body: (SourceFixture, Path) => Any): Unit =
    test(s"$sourceName: $claim") {
      val fixture = newFixture()
      try { body(fixture, Files.createTempDirectory("epochal-testkit").resolve("sources").resolve("0")); () }
      finally fixture.close()
    }

  private val everything = ReadLimit.allAvailable()

  /** The stream, its first offset, and the offset after `rows` rows. */
  private def started(fixture: SourceFixture, checkpoint: Path, rows: Int): (MicroBatchStream, Offset, Offset) = {
    fixture.makeAvailable(rows)
    val stream = fixture.newStream(checkpoint, 2)
    val start = stream.initialOffset()
    (stream, start, MicroBatch.next(stream, start, everything).getOrElse(fail(s"nothing to read of $rows rows")))
  }

  check("an offset comes back from its JSON as the same JSON") { (fixture, checkpoint) =>
    val (stream, start, end) = started(fixture, checkpoint, 7)
    Seq(start, end).foreach { offset =>
      assert(stream.deserializeOffset(offset.json).json == offset.json)
      assert(stream.deserializeOffset(offset.json) == offset)
    }
  }

  check("an offset of a later version is refused, naming both versions") { (fixture, checkpoint) =>
    val (stream, _, end) = started(fixture, checkpoint, 7)
    val version = "\"v\":(\\d+)".r.findFirstMatchIn(end.json).getOrElse(fail(s"no version in ${end.json}")).group(1)
    val error = refused(Conditions.OffsetVersionUnsupported) {
      stream.deserializeOffset(end.json.replace(s"\"v\":$version", "\"v\":4711"))
    }
    // The newest that is read; an offset may be written in an older one.
    val named = "\\d+".r.findAllIn(error.getMessage).map(BigInt(_)).toSet
    assert(named(4711) && (named - 4711).exists(_ >= BigInt(version)), error.getMessage)
  }

  check("an offset of another source is refused") { (fixture, checkpoint) =>
    val (stream, start, end) = started(fixture, checkpoint, 7)
    val foreign = fixture.newStreamOfAnotherSource(checkpoint.resolveSibling("1"))
    refused(Conditions.SourceChanged) {
      foreign.planInputPartitions(foreign.deserializeOffset(start.json), foreign.deserializeOffset(end.json))
    }
    refused(Conditions.SourceChanged)(stream.deserializeOffset(foreign.initialOffset().json))
  }

  check("what is no offset is refused") { (fixture, checkpoint) =>
    val stream = fixture.newStream(checkpoint, 1)
    Seq("", "{}", "[]", "17").foreach(text => refused(Conditions.OffsetInvalid)(stream.deserializeOffset(text)))
  }

  check("the first offset is the same after a restart") { (fixture, checkpoint) =>
    val first = fixture.newStream(checkpoint, 2).initialOffset()
    fixture.makeAvailable(5)
    assert(fixture.newStream(checkpoint, 1).initialOffset().json == first.json)
  }

  check("nothing new gives no batch") { (fixture, checkpoint) =>
    val (stream, start, end) = started(fixture, checkpoint, 3)
    assert(MicroBatch.next(stream, end, everything).isEmpty)
    assert(MicroBatch.read(stream, fixture.schema, start, start).isEmpty)
  }

  check("the offset after all rows counts them all") { (fixture, checkpoint) =>
    val (_, start, end) = started(fixture, checkpoint, 12)
    assert(fixture.rowsBefore(start) == 0 && fixture.rowsBefore(end) == 12)
  }

  check("planning twice gives the same rows, on any number of partitions and after a restart") {
    (fixture, checkpoint) =>
      val (stream, start, end) = started(fixture, checkpoint, 23)
      val rows = MicroBatch.read(stream, fixture.schema, start, end)
      assert(rows.size == 23)
      fixture.makeAvailable(9)
      Seq(1, 2, 3, 7, 40).foreach { partitions =>
        val again = fixture.newStream(checkpoint, partitions)
        val replayed =
          MicroBatch.read(again, fixture.schema, again.deserializeOffset(start.json), again.deserializeOffset(end.json))
        assert(replayed.sortBy(_.toString) == rows.sortBy(_.toString), s"with $partitions partitions")
      }
  }

  check("consecutive batches deliver every row once, whatever the limits and restarts") { (fixture, checkpoint) =>
    fixture.makeAvailable(50)
    val sizes = Iterator.continually(Seq(1L, 7L, 3L, 20L)).flatten
    var at = fixture.newStream(checkpoint, 2).initialOffset().json
    var rows = Vector.empty[Seq[Any]]
    var more = true
    while (more) {
      val stream = fixture.newStream(checkpoint, 3)
      val start = stream.deserializeOffset(at)
      MicroBatch.next(stream, start, ReadLimit.maxRows(sizes.next())) match {
        case Some(end) =>
          rows ++= MicroBatch.read(stream, fixture.schema, start, end)
          stream.commit(start)
          at = end.json
        case None => more = false
      }
      stream.stop()
    }
    assert(rows.size == 50 && rows.distinct.size == 50)
    val whole = fixture.newStream(checkpoint, 1)
    if (fixture.keepsRows)
      assert(MicroBatch.read(whole, fixture.schema, whole.initialOffset(), whole.deserializeOffset(at)) == rows)
  }

  check("a maximum of rows is kept") { (fixture, checkpoint) =>
    fixture.makeAvailable(30)
    val stream = fixture.newStream(checkpoint, 2)
    val start = stream.initialOffset()
    Seq(1, 2, 10, 29, 30, 31, 1000).foreach { max =>
      val end = MicroBatch.next(stream, start, ReadLimit.maxRows(max.toLong)).getOrElse(fail(s"no batch for $max"))
      assert(MicroBatch.read(stream, fixture.schema, start, end).size == math.min(max, 30))
    }
  }

  check("a minimum of rows holds fewer back, and lets as many through") { (fixture, checkpoint) =>
    fixture.makeAvailable(9)
    val stream = fixture.newStream(checkpoint, 2)
    val start = stream.initialOffset()
    val limit = ReadLimit.minRows(10, 3600000L)
    assert(MicroBatch.next(stream, start, limit).isEmpty)
    fixture.makeAvailable(1)
    assert(MicroBatch.next(stream, start, limit).map(fixture.rowsBefore).contains(10L))
  }

  check("a composite of limits keeps each of them") { (fixture, checkpoint) =>
    fixture.makeAvailable(9)
    val stream = fixture.newStream(checkpoint, 2)
    val start = stream.initialOffset()
    val limit = ReadLimit.compositeLimit(Array(ReadLimit.minRows(10, 3600000L), ReadLimit.maxRows(12)))
    assert(MicroBatch.next(stream, start, limit).isEmpty)
    fixture.makeAvailable(20)
    assert(MicroBatch.next(stream, start, limit).map(fixture.rowsBefore).contains(12L))
  }

  check("AvailableNow reads what exists at its start, in batches of the limit, and ends") { (fixture, checkpoint) =>
    fixture.makeAvailable(25)
    val stream = fixture.newStream(checkpoint, 2)
    stream match {
      case now: SupportsTriggerAvailableNow => now.prepareForTriggerAvailableNow()
      case _                                => fail("does not support AvailableNow")
    }
    var at = stream.initialOffset()
    val sizes = Iterator
      .continually(MicroBatch.next(stream, at, ReadLimit.maxRows(10)))
      .takeWhile(_.nonEmpty)
      .flatten
      .map { end =>
        fixture.makeAvailable(5)
        val size = MicroBatch.read(stream, fixture.schema, at, end).size
        at = end
        size
      }
      .take(100)
      .toVector
    // A list that is followed shows its end only when a read comes there: what was added before that belongs to it.
    if (fixture.endIsKnownAtStart) assert(sizes == Vector(10, 10, 5))
    else assert(sizes.take(2) == Vector(10, 10) && sizes.sum >= 25 && sizes.size < 100)
  }

  check("a batch can be replayed after the batch before it was committed, and committing twice changes nothing") {
    (fixture, checkpoint) =>
      val (stream, _, middle) = started(fixture, checkpoint, 10)
      fixture.makeAvailable(10)
      val end = MicroBatch.next(stream, middle, everything).getOrElse(fail("no second batch"))
      stream.commit(middle)
      stream.commit(middle)
      val rows = MicroBatch.read(stream, fixture.schema, middle, end)
      val again = fixture.newStream(checkpoint, 3)
      again.commit(again.deserializeOffset(middle.json))
      val replayed =
        MicroBatch.read(again, fixture.schema, again.deserializeOffset(middle.json), again.deserializeOffset(end.json))
      assert(rows.size == 10 && replayed.sortBy(_.toString) == rows.sortBy(_.toString))
  }

  check("lag is reported: the latest offset, and how far behind a consumed one is") { (fixture, checkpoint) =>
    fixture.makeAvailable(30)
    val stream = fixture.newStream(checkpoint, 2)
    val end = MicroBatch.next(stream, stream.initialOffset(), ReadLimit.maxRows(10)).getOrElse(fail("no batch"))
    stream match {
      case limited: SupportsAdmissionControl => assert(fixture.rowsBefore(limited.reportLatestOffset()) >= 10)
      case _                                 => fail("has no read limits")
    }
    stream match {
      case reporting: ReportsSourceMetrics => assert(!reporting.metrics(java.util.Optional.of(end)).isEmpty)
      case _                               => fail("reports no metrics")
    }
  }
}
