package io.epochal.kit.source.journal

import java.nio.file.Files

import scala.util.Try

import org.scalatest.concurrent.Eventually.{eventually, timeout}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow
import org.scalatest.time.{Seconds, Span}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.journal.Segment
import io.epochal.kit.source.EndlessReader

/** A feed's received rows count, for its task and for later runs. */
final class JournalFeedSuite extends AnyFunSuite {

  test("a task keeps reading while rows arrive, and waits no longer than its timeout") {
    using { (feed, runs) =>
      val run = runs()
      feed.size = 3
      val reader = run.reader(0)
      assert(read(reader, 3) == Seq(0L, 1L, 2L) && reader.offset == FeedOffset(3))
      val begun = System.nanoTime()
      assert(!reader.next(200) && System.nanoTime() - begun >= 200000000L)
      assert(!reader.next(0))
      feed.size = 5
      assert(read(reader, 2) == Seq(3L, 4L) && reader.offset == FeedOffset(5))
      reader.close()
      run.close()
    }
  }

  test("a task in another process learns from the log which rows exist") {
    using { (feed, runs) =>
      val run = runs()
      feed.size = 3
      run.follow(0): Unit
      val reader = run.remoteReader(0)
      assert(read(reader, 3) == Seq(0L, 1L, 2L))
      feed.size = 4
      assert(read(reader, 1) == Seq(3L))
      run.close()
    }
  }

  test("F2: the next run has all rows that were visible to tasks, and reads the origin after them") {
    using { (feed, runs) =>
      ended(feed, runs, rows = 4): Unit
      feed.first = 100
      feed.size = 6
      Seq(1, 2).foreach { _ =>
        val next = runs()
        assert(read(next.reader(0), 6) == Seq(0L, 1L, 2L, 3L, 104L, 105L))
        next.close()
      }
    }
  }

  test("a micro-batch run has them too, in a batch that does not poll the origin: the sink may reject it") {
    using { (feed, runs) =>
      ended(feed, runs, rows = 4): Unit
      feed.first = 100
      feed.size = 6
      val start = FeedPosition(0, None, 0)
      feed.problem = Some("polled too early")
      Seq(100, 3).foreach { most =>
        val refused = runs()
        val rows = math.min(4, most).toLong
        assert(refused.supply.available(start, most.toLong) >= rows)
        assert(refused.rows(refused.supply.take(start, rows)) == (0L until rows))
        refused.close()
      }
      feed.problem = None
      val next = runs()
      assert(next.supply.available(start, 100) == 4)
      val end = next.supply.take(start, 4)
      assert(next.supply.available(end, 100) == 2)
      assert(next.rows(end, next.supply.take(end, 2)) == Seq(104L, 105L))
      next.close()
    }
  }

  test("an epoch may end at any row: its position names the segments of its replay and later ones") {
    using { (feed, runs) =>
      feed.size = 4
      val run = runs()
      assert(read(run.reader(0), 4).size == 4)
      feed.size = 7
      eventually(timeout(Span(10, Seconds)))(assert(run.supply.followedTo(3).journal.get.last.until == 7))
      val end = run.supply.followedTo(3)
      assert(end.rows == 3 && run.rows(end) == Seq(0L, 1L, 2L))
      assert(run.codec.fromJson(run.codec.toJson(end)) == Right(end))
      run.supply.release(end)
      val next = run.supply.followedTo(7)
      assert(next.rows == 7 && run.rows(end, next) == Seq(3L, 4L, 5L, 6L))
      run.close()
      feed.first = 100
      val later = runs()
      assert(later.supply.follow(end) == 3)
      assert(read(later.readerAt(3), 4) == Seq(3L, 4L, 5L, 6L))
      later.close()
    }
  }

  test("F2, F3: a run that was taken over delivers nothing more, and its successor has all rows that it had") {
    using { (feed, runs) =>
      val first = runs()
      feed.size = 2
      val old = first.reader(0)
      assert(read(old, 2) == Seq(0L, 1L))
      feed.hold()
      feed.size = 3
      val second = runs()
      feed.first = 100
      val reader = second.reader(0)
      assert(read(reader, 2) == Seq(0L, 1L))
      feed.release()
      assert(read(reader, 1) == Seq(102L))
      val refused = intercept[EpochalException](while (!old.next(1000)) {})
      assert(refused.condition == Conditions.JournalFenced)
      first.close()
      second.close()
      val third = runs()
      assert(read(third.reader(0), 3) == Seq(0L, 1L, 102L))
      third.close()
    }
  }

  test(
    "many polls with one row each create few segments, and the rows are the same after a restart, wherever epochs ended",
    Slow) {
    using { (feed, runs) =>
      val first = runs()
      val reader = first.reader(0)
      var end = FeedPosition(0, None, 0)
      def segments = FeedLog.newest(first.store, "feed").fold(0)(_._2.segments.size)
      (0 until 300).foreach { number =>
        feed.size = number + 1
        assert(read(reader, 1) == Seq(number.toLong))
        assert(segments <= 140, s"after $number rows")
        if (number == 70 || number == 230) {
          val before = end
          end = first.supply.followedTo(number - 10L)
          assert(first.rows(before, end) == (before.rows until number - 10L))
          if (number == 70) first.supply.release(end)
        }
      }
      assert(segments <= 100)
      first.close()
      feed.first = 1000
      feed.size = 301
      val second = runs()
      second.supply.follow(end): Unit
      assert(read(second.readerAt(end.rows), 81) == ((220 until 300).map(_.toLong) :+ 1300L))
      second.close()
    }
  }

  test("F2: a task in another process delivers nothing from a file that a run wrote after it was taken over") {
    using { (feed, runs) =>
      feed.size = 2
      val first = runs()
      first.follow(0): Unit
      val reader = first.remoteReader(0)
      assert(read(reader, 2) == Seq(0L, 1L))
      feed.hold()
      feed.size = 3
      val second = runs()
      second.claim()
      feed.release()
      val refused = intercept[EpochalException](while (!reader.next(1000)) {})
      assert(refused.condition == Conditions.FeedFailed && refused.getMessage.contains("JOURNAL_FENCED"))
      first.close()
      second.close()
    }
  }

  test("a task in another process gets the failure that ended the feed") {
    using { (feed, runs) =>
      feed.size = 2
      val run = runs()
      run.follow(0): Unit
      val reader = run.remoteReader(0)
      assert(read(reader, 2) == Seq(0L, 1L))
      feed.problem = Some("the origin is gone")
      val failed = intercept[EpochalException](while (!reader.next(1000)) {})
      assert(failed.condition == Conditions.FeedFailed && failed.getMessage.contains("the origin is gone"))
      Seq[() => Any](() => run.follow(0), () => run.supply.followedTo(2)).foreach { ask =>
        assert(intercept[IllegalStateException](ask()).getMessage == "the origin is gone")
      }
      run.close()
      feed.problem = None
      feed.size = 3
      val next = runs()
      assert(read(next.reader(0), 3) == Seq(0L, 1L, 2L))
      next.close()
    }
  }

  test("an error of the JVM ends the feed by name, after the rows before it") {
    using { (feed, runs) =>
      feed.size = 2
      val run = runs()
      run.follow(0): Unit
      val reader = run.readerAt(0)
      assert(read(reader, 1) == Seq(0L))
      feed.fatal = Some(new LinkageError("a class is missing"))
      eventually(timeout(Span(10, Seconds)))(assert(Try(run.follow(0)).isFailure))
      assert(read(reader, 1) == Seq(1L))
      val failed = intercept[EpochalException](reader.next(10000))
      assert(failed.condition == Conditions.FeedFailed && failed.getMessage.contains("a class is missing"))
      run.close()
    }
  }

  test("F2: the next run has the rows of a file even if its own run never learned that the file counts") {
    using { (feed, runs) =>
      feed.size = 2
      val run = runs()
      assert(read(run.reader(0), 2) == Seq(0L, 1L))
      run.withoutGenerations {
        feed.size = 3
        eventually(timeout(Span(10, Seconds)))(assert(Try(run.follow(0)).isFailure))
        run.close()
      }
      feed.first = 100
      val next = runs()
      assert(read(next.reader(0), 3) == Seq(0L, 1L, 2L))
      next.close()
    }
  }

  test("a position covers only rows that the run knows: a task in another process may know more") {
    using { (feed, runs) =>
      feed.size = 2
      val run = runs()
      assert(read(run.reader(0), 2) == Seq(0L, 1L))
      feed.hold()
      val reader = new Thread(() => Seq(run.supply.followedTo(3)).foreach(end => run.found = Some(end)))
      reader.start()
      reader.join(300)
      assert(reader.isAlive)
      feed.size = 3
      feed.release()
      reader.join(10000)
      assert(run.found.exists(end => end.rows == 3 && end.next == 3 && run.rows(end) == Seq(0L, 1L, 2L)))
      run.close()
    }
  }

  test("an epoch that ends before the first poll has ended is at its start") {
    using { (feed, runs) =>
      feed.size = 1
      feed.hold()
      val run = runs()
      run.follow(0): Unit
      assert(run.supply.followedTo(0) == FeedPosition(0, None, 0))
      feed.release()
      run.close()
    }
  }

  test("an epoch that ends before the first poll has ended is at its end among the rows that its offset names") {
    using { (feed, runs) =>
      val start = planned(feed, runs, received = 5, rows = 2)
      feed.size = 6
      feed.hold()
      val run = runs()
      assert(run.supply.follow(start) == 2)
      assert(read(run.readerAt(2), 3) == Seq(2L, 3L, 4L))
      val end = run.supply.followedTo(4)
      assert(end.rows == 4 && end.next == 5 && run.rows(start, end) == Seq(2L, 3L))
      feed.release()
      run.close()
    }
  }

  test("J9: a run that was taken over removes none of its successor's files") {
    using { (feed, runs) =>
      feed.size = 2
      val first = runs()
      assert(read(first.reader(0), 2) == Seq(0L, 1L))
      val end = first.supply.followedTo(2)
      feed.hold()
      val second = runs()
      feed.size = 3
      second.supply.follow(end): Unit
      feed.release()
      assert(read(second.readerAt(2), 1) == Seq(2L))
      first.supply.release(end)
      second.close()
      first.close()
      feed.first = 100
      val third = runs()
      third.supply.follow(end): Unit
      assert(read(third.readerAt(2), 1) == Seq(2L))
      third.close()
    }
  }

  test("F1: an incomplete file is ignored, and the one before it counts") {
    using { (feed, runs) =>
      val first = ended(feed, runs, rows = 4)
      val file = first.feedFiles.last
      val number = file.getFileName.toString.stripSuffix(".feed").split('-')
      val bytes = Files.readAllBytes(file)
      Seq(0, 1, bytes.length / 2, bytes.length - 1).foreach { length =>
        Files.write(file.resolveSibling(f"${number(0)}-${number(1).toInt + 1}%010d.feed"), bytes.take(length))
        assert(FeedLog.newest(first.store, "feed").exists(_._2.segments.last.until == 4), s"cut after $length bytes")
      }
    }
  }

  test("a file that was replaced after it was listed is not taken for an incomplete one") {
    using { (feed, runs) =>
      val first = ended(feed, runs, rows = 2)
      val listed = first.store.names()
      val second = ended(feed, runs, rows = 3)
      assert(second.store.names().toSet.intersect(listed.filter(_.endsWith(".feed")).toSet).isEmpty)
      assert(FeedLog.newest(new StaleListing(second.store, listed), "feed").exists(_._2.segments.last.until == 3))
    }
  }

  test("a feed receives nothing more while its task stands still, and then every row") {
    val feed = new HeldFeed
    val run = new FeedRun(feed, Files.createTempDirectory("feed"), maxBytes = 4000)
    val reader = run.reader(0)
    def received = FeedLog.newest(run.store, "feed").fold(Seq.empty[Segment])(_._2.segments)
    def until = received.lastOption.fold(0L)(_.until)
    do feed.size += 10
    while (Try(eventually(timeout(Span(1, Seconds)))(assert(until == feed.size))).isSuccess && until < 5000)
    assert(until < feed.size && until > 50 && received.map(_.bytes).sum < 6000)
    feed.size += 1000
    val before = until
    assert(read(reader, 1) == Seq(0L))
    Thread.sleep(100)
    assert(until == before)
    assert(read(reader, feed.size - 1) == (1L until feed.size.toLong))
    run.close()
  }

  test("an offset that a later run logged takes precedence over rows that a feed had received before") {
    using { (feed, runs) =>
      ended(feed, runs, rows = 2): Unit
      val end = planned(feed, runs, received = 5, rows = 5)
      feed.size = 6
      val third = runs()
      third.supply.follow(end): Unit
      assert(read(third.readerAt(5), 1) == Seq(5L))
      third.close()
    }
  }

  /** A run that has delivered the first rows of a feed without further rows. */
  private def ended(feed: HeldFeed, runs: () => FeedRun, rows: Int): FeedRun = {
    feed.size = rows
    val run = runs()
    assert(read(run.reader(0), rows) == (0 until rows).map(_.toLong))
    run.close()
    run
  }

  /** The end, after this many rows, of the micro-batches of a run that has received more. */
  private def planned(feed: HeldFeed, runs: () => FeedRun, received: Int, rows: Int): FeedPosition = {
    feed.size = received
    val run = runs()
    var (end, there) = (FeedPosition(0, None, 0), 0L)
    while (end.rows < rows) {
      val more = run.supply.available(end, 100)
      assert(more > 0)
      there = end.rows + more
      end = run.supply.take(end, math.min(more, rows - end.rows))
    }
    assert(there == received)
    run.close()
    end
  }

  private def read(reader: EndlessReader, rows: Int): Seq[Long] = Seq.fill(rows) {
    assert(reader.next(10000), "no row came")
    reader.get().getLong(0)
  }

  private def using(body: (HeldFeed, () => FeedRun) => Unit): Unit = {
    val directory = Files.createTempDirectory("feed")
    val feed = new HeldFeed
    body(feed, () => new FeedRun(feed, directory))
  }
}
