package io.epochal.ingest.intake

import java.time.{Clock, Duration}
import java.util.concurrent.TimeUnit.SECONDS
import java.util.concurrent.{CountDownLatch, CyclicBarrier}

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.Conditions
import io.epochal.core.journal.acknowledged.AcknowledgedJournal
import io.epochal.ingest.IngestStreams.{arrival, store}
import io.epochal.kit.source.ManualClock
import io.epochal.kit.source.journal.JournalFaults

final class JournalIntakeSuite extends AnyFunSuite {
  private val start = java.time.Instant.parse("2026-01-01T00:00:00Z")

  private class Fixture(settings: IntakeSettings = IntakeSettings(1L << 20, Duration.ofMinutes(10))) {
    val files = new SlowStore
    private val runs = new SlowStore
    val clock = new ManualClock(start)

    def run(wall: Clock = clock, steady: Clock = clock): JournalIntake =
      new JournalIntake(
        AcknowledgedJournal.take(files, runs, "source", settings.segmentBytes),
        settings,
        new JournalFaults("epochal-ingest", "source", "/journal"),
        steady,
        wall)

    def keyed(intake: JournalIntake, key: String): Receipt =
      intake.accept(arrival(Seq(key), Some(key), clock.millis() * 1000L)).get(60, SECONDS)
  }

  test("arrivals that wait for a slow sync share the next one, and each gets its receipt") {
    val fixture = new Fixture
    val intake = fixture.run()
    val entered = new CyclicBarrier(2)
    fixture.files.beforeSync = () => entered.await(): Unit
    val first = intake.accept(arrival(Seq("a")))
    entered.await(60, SECONDS): Unit
    // The writer is past the barrier and may sync; arrivals that come meanwhile share one sync.
    val hold = new CountDownLatch(1)
    fixture.files.beforeSync = () => hold.await()
    val second = intake.accept(arrival(Seq("b")))
    assert(first.get(60, SECONDS) == Receipt.Stored(1))
    while (fixture.files.waiting == 0) Thread.onSpinWait()
    val others = (0 until 100).map(n => intake.accept(arrival(Seq(s"c$n", s"d$n"))))
    assert(!second.isDone && others.forall(!_.isDone))
    fixture.files.beforeSync = () => ()
    val before = fixture.files.syncs
    hold.countDown()
    assert(others.map(_.get(60, SECONDS)).forall(_ == Receipt.Stored(2)))
    assert(fixture.files.syncs - before <= 2, "the one that was held, and one for the rest")
    assert(intake.journal.until == 202)
    intake.close()
  }

  test("when there is no room for keys, expiry makes room, without new arrivals") {
    val fixture = new Fixture(IntakeSettings(1L << 20, Duration.ofMinutes(10), maxKeys = 2))
    val intake = fixture.run()
    Seq("k", "l").foreach(key => assert(fixture.keyed(intake, key) == Receipt.Stored(1)))
    assert(!intake.hasRoom && store(intake, Seq("a")).isInstanceOf[Receipt.Full])
    fixture.clock.advance(Duration.ofMinutes(11))
    val deadline = System.nanoTime() + 60000000000L
    while (!intake.hasRoom && System.nanoTime() < deadline) Thread.sleep(10)
    assert(store(intake, Seq("a")) == Receipt.Stored(1))
    intake.close()
  }

  test("a stored key is a duplicate: in the same group, later, in the next run, and after its segment was removed") {
    val fixture = new Fixture
    val first = fixture.run()
    first.hold()
    val together =
      Seq("k", "k", "l").map(key => first.accept(arrival(Seq(key), Some(key), fixture.clock.millis() * 1000L)))
    first.resume()
    assert(together.map(_.get(60, SECONDS)) == Seq(Receipt.Stored(1), Receipt.Duplicate, Receipt.Stored(1)))
    assert(fixture.keyed(first, "k") == Receipt.Duplicate && first.journal.until == 2)
    first.close()
    // Each run begins a segment; after four committed epochs only the last ones remain.
    (1 to 8).foreach { n =>
      val next = fixture.run()
      assert(fixture.keyed(next, "k") == Receipt.Duplicate && fixture.keyed(next, s"m$n") == Receipt.Stored(1))
      next.journal.sweep()
      next.journal.release(next.journal.until)
      next.close()
    }
    assert(fixture.files.names().size <= 5)
    val last = fixture.run()
    Seq("k", "l", "m1", "m8").foreach(key => assert(fixture.keyed(last, key) == Receipt.Duplicate, key))
    last.close()
  }

  test("a key is remembered for the window, and no longer") {
    val fixture = new Fixture
    val intake = fixture.run()
    assert(fixture.keyed(intake, "k") == Receipt.Stored(1))
    fixture.clock.advance(599)
    assert(fixture.keyed(intake, "k") == Receipt.Duplicate)
    fixture.clock.advance(1)
    assert(fixture.keyed(intake, "k") == Receipt.Stored(1))
    intake.close()
  }

  test("a key is remembered for the window after a restart, though the clock was a day ahead before") {
    val fixture = new Fixture
    fixture.clock.advance(Duration.ofDays(1))
    val first = fixture.run()
    Seq("k", "l").foreach(key => assert(fixture.keyed(first, key) == Receipt.Stored(1)))
    first.close()
    fixture.clock.set(start)
    val second = fixture.run()
    Seq("k", "l").foreach(key => assert(fixture.keyed(second, key) == Receipt.Duplicate))
    assert(fixture.keyed(second, "m") == Receipt.Stored(1))
    fixture.clock.advance(599)
    assert(fixture.keyed(second, "k") == Receipt.Duplicate)
    fixture.clock.advance(1)
    Seq("k", "l", "m").foreach(key => assert(fixture.keyed(second, key) == Receipt.Stored(1)))
    second.close()
  }

  test("a key is remembered after a restart, though the clock was set back for a day while it was stored") {
    val fixture = new Fixture
    val first = fixture.run()
    assert(fixture.keyed(first, "k") == Receipt.Stored(1))
    fixture.clock.advance(Duration.ofDays(-1))
    assert(fixture.keyed(first, "l") == Receipt.Stored(1))
    first.close()
    fixture.clock.set(start)
    val second = fixture.run()
    Seq("k", "l").foreach(key => assert(fixture.keyed(second, key) == Receipt.Duplicate))
    second.close()
  }

  test("a key is remembered after a restart, though the machine slept for an hour while it was remembered") {
    val fixture = new Fixture
    val wall = new ManualClock(start)
    val first = fixture.run(wall)
    assert(fixture.keyed(first, "k") == Receipt.Stored(1))
    first.close()
    val second = fixture.run(wall)
    wall.advance(Duration.ofHours(1))
    assert(fixture.keyed(second, "l") == Receipt.Stored(1))
    second.close()
    fixture.clock.set(wall.instant())
    val third = fixture.run(wall)
    Seq("k", "l").foreach(key => assert(fixture.keyed(third, key) == Receipt.Duplicate, key))
    third.close()
  }

  test("the time within a run is that of its start and what has passed since, whatever the clock is set to") {
    var nanos = 5L
    val clock = new SteadyClock(start, () => nanos)
    assert(clock.instant() == start)
    nanos += 1500000000L
    assert(clock.instant() == start.plusMillis(1500))
  }

  test("the key of an arrival that was not stored is not remembered") {
    val fixture = new Fixture
    val intake = fixture.run()
    fixture.files.fails = true
    assert(failed(fixture.keyed(intake, "k")).contains("JOURNAL_UNWRITABLE"))
    assert(intake.failure.nonEmpty)
    fixture.files.fails = false
    assert(fixture.keyed(intake, "k") == Receipt.Stored(1) && intake.failure.isEmpty)
    intake.close()
  }

  test("undelivered rows fill the journal; delivered rows make room before they are removed") {
    val fixture = new Fixture(IntakeSettings(1000, Duration.ZERO))
    val intake = fixture.run()
    val stored = Iterator.continually(store(intake, Seq("x" * 100))).takeWhile(_ == Receipt.Stored(1)).size
    assert(stored >= 5 && !intake.hasRoom && store(intake, Seq("y")) == Receipt.Full(1))
    intake.deliveredUntil(stored.toLong)
    assert(intake.hasRoom && store(intake, Seq("z")) == Receipt.Stored(1))
    intake.close()
  }

  test("a full journal recognises keys that are stored or being stored; other arrivals are refused") {
    val fixture = new Fixture(IntakeSettings(1000, Duration.ofMinutes(10)))
    val intake = fixture.run()
    val stored = Iterator.from(0).map(n => fixture.keyed(intake, s"k$n")).takeWhile(_ == Receipt.Stored(1)).size
    val rows = intake.journal.until
    assert(stored >= 5 && rows == stored && !intake.hasRoom)
    (0 until stored).foreach(n => assert(fixture.keyed(intake, s"k$n") == Receipt.Duplicate, n))
    assert(fixture.keyed(intake, "new") == Receipt.Full(1) && store(intake, Seq("y")) == Receipt.Full(1))
    // The key of a refused arrival is not remembered.
    intake.deliveredUntil(rows)
    assert(fixture.keyed(intake, "new") == Receipt.Stored(1))
    assert(fixture.keyed(intake, "k0") == Receipt.Duplicate && intake.journal.until == rows + 1)
    intake.close()
  }

  test("a stored key is recognised while the journal cannot be written") {
    val fixture = new Fixture
    val intake = fixture.run()
    assert(fixture.keyed(intake, "k") == Receipt.Stored(1))
    fixture.files.fails = true
    intake.hold()
    val together = Seq("l", "k", "l").map(key => intake.accept(arrival(Seq(key), Some(key))))
    intake.resume()
    val receipts = together.map(_.get(60, SECONDS))
    assert(receipts(1) == Receipt.Duplicate)
    assert(Seq(0, 2).forall(n => failed(receipts(n)).contains("JOURNAL_UNWRITABLE")))
    intake.close()
  }

  test("a fenced run acknowledges nothing more and reports JOURNAL_FENCED") {
    val fixture = new Fixture
    val old = fixture.run()
    assert(store(old, Seq("a")) == Receipt.Stored(1))
    val next = fixture.run()
    assert(failed(store(old, Seq("b"))).contains("JOURNAL_FENCED"))
    assert(old.failure.exists(_.condition == Conditions.JournalFenced))
    assert(store(next, Seq("c")) == Receipt.Stored(1) && next.journal.until == 2)
    Seq(old, next).foreach(_.close())
  }

  test("after close nothing is stored, and every receipt completes") {
    val fixture = new Fixture
    val intake = fixture.run()
    intake.hold()
    val waiting = intake.accept(arrival(Seq("a")))
    intake.close()
    assert(failed(waiting.get(60, SECONDS)).contains("INTAKE_STOPPED"))
    assert(failed(store(intake, Seq("b"))).contains("INTAKE_STOPPED") && !intake.hasRoom)
  }

  test("an error that ends the intake's thread completes every receipt and ends the run") {
    val fixture = new Fixture
    val intake = fixture.run()
    val entered = new CyclicBarrier(2)
    fixture.files.beforeSync = () => {
      entered.await(60, SECONDS): Unit
      entered.await(60, SECONDS): Unit
      throw new LinkageError("a class is missing")
    }
    intake.hold()
    val together = Seq("k", "k", "l").map(key => intake.accept(arrival(Seq(key), Some(key))))
    intake.resume()
    entered.await(60, SECONDS): Unit
    val behind = intake.accept(arrival(Seq("m")))
    assert(intake.finalError.isEmpty)
    entered.await(60, SECONDS): Unit
    together.foreach(one => assert(failed(one.get(60, SECONDS)).contains("JOURNAL_UNWRITABLE")))
    assert(failed(behind.get(60, SECONDS)).contains("INTAKE_STOPPED"))
    assert(failed(store(intake, Seq("n"))).contains("INTAKE_STOPPED") && !intake.hasRoom)
    assert(intake.finalError.exists(_.getMessage.contains("a class is missing")))
    intake.close()
  }

  test("an error of the JVM between two groups ends the run, too") {
    val fixture = new Fixture(IntakeSettings(1L << 20, Duration.ofMinutes(10), maxKeys = 1))
    @volatile var fails = false
    val clock = new SteadyClock(start, () => if (fails) throw new LinkageError("a class is missing") else 0L)
    val intake = fixture.run(steady = clock)
    assert(store(intake, Seq("a"), Some("k")) == Receipt.Stored(1))
    fails = true
    val deadline = System.nanoTime() + SECONDS.toNanos(60)
    while (intake.finalError.isEmpty && System.nanoTime() < deadline) Thread.sleep(10)
    assert(intake.finalError.exists(_.getMessage.contains("a class is missing")))
    assert(failed(store(intake, Seq("b"))).contains("INTAKE_STOPPED"))
    intake.close()
  }

  test("an arrival survives the round trip through a payload") {
    val encoded = Seq(arrival(Seq("ä", "", "xyz"), Some("k")), arrival(Seq("")).copy(headers = null, stream = ""))
      .map(new EncodedArrival(_))
    val buffer = java.nio.ByteBuffer.allocate(encoded.map(_.length).sum)
    encoded.foreach(_.write(buffer))
    assert(!buffer.hasRemaining)
    val found = ArrivalFormat.all(buffer.array, buffer.capacity).toVector
    val texts = found.map(one =>
      (0 until one.records).map(n => new String(one.payload, one.end(n - 1), one.end(n) - one.end(n - 1), "UTF-8")))
    assert(texts == Vector(Seq("ä", "", "xyz"), Seq("")))
    assert(
      found.map(_.key) == Vector(Some(KeyDigest.of("k")), None) && found
        .map(_.headers) == Vector("{\"a\":\"1\"}", null))
    assert(found.map(_.stream) == Vector("events", "") && found.forall(_.remote == "client:1"))
  }

  private def failed(receipt: Receipt): String = receipt match {
    case Receipt.Failed(error) => error.getMessage
    case other                 => fail(s"$other")
  }

  test("a key is remembered for the window and no longer, though the clock was a day ahead for a while") {
    val fixture = new Fixture
    val first = fixture.run()
    def stored(key: String, seconds: Long) = {
      val at = start.plusSeconds(seconds)
      first.accept(arrival(Seq(key), Some(key), at.toEpochMilli * 1000L)).get(60, SECONDS)
    }
    assert(
      Seq("k" -> 1L, "l" -> 86400L, "m" -> 86401L, "n" -> 3L).map((stored _).tupled).forall(_ == Receipt.Stored(1)))
    first.close()
    fixture.clock.advance(3401)
    val second = fixture.run()
    Seq("k", "l", "m", "n").foreach(key => assert(fixture.keyed(second, key) == Receipt.Stored(1), key))
    second.close()
  }
}
