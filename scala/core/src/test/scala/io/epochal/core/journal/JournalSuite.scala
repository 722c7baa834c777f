package io.epochal.core.journal

import java.io.IOException
import java.nio.ByteBuffer

import scala.util.Using

import com.fasterxml.jackson.databind.ObjectMapper
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** The invariants of [[Journal]], by their numbers. The payload of a frame is its rows' numbers, eight bytes each. */
final class JournalSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val source = "http://h/c (cursor)"

  private def journal(store: FileStore): Journal = new Journal(store, source)

  private def append(writer: SegmentWriter, rows: Int): Unit = {
    val bytes = ByteBuffer.allocate(3 + rows * 8).put(Array[Byte](7, 7, 7))
    (0 until rows).foreach(i => bytes.putLong(writer.until + i))
    writer.append(rows, bytes.array(), 3, rows * 8)
  }

  private def write(journal: Journal, from: Long, frames: Int*): Segment = {
    val writer = journal.begin(from)
    frames.foreach(append(writer, _))
    journal.seal(writer)
  }

  private def rows(store: FileStore, slice: Slice): Seq[Long] = {
    var bytes = Array.emptyByteArray
    Using.resource(store.open(slice.segment))(Journal.read(_, slice) { length =>
      bytes = new Array(length)
      bytes
    })
    val numbers = ByteBuffer.wrap(bytes)
    Seq.fill(slice.frame.rows)(numbers.getLong()).slice(slice.skip, slice.skip + slice.take)
  }

  private def rows(store: FileStore, plan: JournalPlan): Seq[Long] = plan.slices.flatMap(rows(store, _))

  test("J1: two runs, and two attempts of one run, never give segments the same name") {
    val store = new MemoryFileStore
    val (one, other) = (journal(store), journal(store))
    val names = Seq(one, other, one, other).map(_.begin(5).name)
    assert(names.distinct == names && names.forall(Segment.from(_).contains(5L)))
    val run = "0" * 32
    val _ = new Journal(store, source, run).begin(0)
    intercept[IOException](new Journal(store, source, run).begin(0))
  }

  test("J2: files that no offset names are not read, with any content") {
    val store = new MemoryFileStore
    val named = write(journal(store), 0, 3, 4)
    append(journal(store).begin(0), 5)
    write(journal(store), 0, 9)
    store.files("0000000000000000000-half.seg.tmp") = Array[Byte](1)
    assert(rows(store, journal(store).plan(Seq(named), 0, 7)) == (0L until 7L))
  }

  test("J3: a segment whose end cannot be made durable is not sealed, and is removed") {
    val store = new MemoryFileStore
    store.syncFails = true
    intercept[IOException](write(journal(store), 0, 3))
    assert(store.files.isEmpty)
  }

  test("J3: with the disk full at any byte there is an error, no file is left, and the next segment is complete") {
    val size = { val store = new MemoryFileStore; write(journal(store), 0, 3, 4).bytes }
    (0L until size).foreach { room =>
      val store = new MemoryFileStore
      store.room = room
      val log = journal(store)
      intercept[IOException](write(log, 0, 3, 4))
      assert(store.files.isEmpty, s"with $room bytes")
      store.room = Long.MaxValue
      assert(rows(store, log.plan(Seq(write(log, 0, 3, 4)), 0, 7)) == (0L until 7L))
    }
  }

  test("J4: after any byte of a segment changes, its rows are right or reported missing, and never others") {
    val store = new MemoryFileStore
    val segment = write(journal(store), 10, 2, 1, 5)
    val good = store.files(segment.name)
    forAll(Gen.choose(0, good.length - 1), Gen.choose(1, 255)) { (at, change) =>
      val bad = good.clone()
      bad(at) = (bad(at) ^ change).toByte
      store.files(segment.name) = bad
      shouldBeRightOrGone(store, segment)
    }
  }

  test("J4: a torn tail, and extra bytes, give right rows or missing ones") {
    val store = new MemoryFileStore
    val segment = write(journal(store), 10, 2, 1, 5)
    val good = store.files(segment.name)
    good.indices.foreach { length =>
      store.files(segment.name) = good.take(length)
      val plan = journal(store).plan(Seq(segment), 10, 18)
      assert(
        plan.slices.isEmpty && plan.gaps.map(gap => (gap.from, gap.until)) == Seq((10L, 18L)),
        s"after $length bytes")
    }
    store.files(segment.name) = good ++ good
    assert(rows(store, journal(store).plan(Seq(segment), 10, 18)) == (10L until 18L))
  }

  test("J4: a file under another run's name, of another source, or of a newer version is rejected with the reason") {
    def reason(change: Array[Byte] => Array[Byte], of: String = source): String = {
      val store = new MemoryFileStore
      val segment = write(journal(store), 0, 3)
      store.files(segment.name) = change(store.files(segment.name))
      new Journal(store, of).plan(Seq(segment), 0, 3).gaps.map(_.reason).mkString
    }
    def foreign(from: Long, of: String): Array[Byte] = {
      val store = new MemoryFileStore
      val log = new Journal(store, of)
      store.files(write(log, from, 3).name)
    }
    assert(reason(_ => foreign(5, source)).contains("it begins with row 5 and not 0"))
    assert(reason(_ => foreign(0, "http://h/d (cursor)")).contains("belongs to the source 'http://h/d (cursor)'"))
    assert(reason(identity, "another").contains(s"belongs to the source '$source'"))
    assert(reason(_.updated(11, 9.toByte)).contains("it has version 9, and this release reads version 1"))
    assert(reason(_.updated(0, 'X'.toByte)).contains("it is not a segment"))
  }

  test("J5: rows in no segment are reported as gaps, before, between and after existing ones") {
    val store = new MemoryFileStore
    val log = journal(store)
    val segments = Seq(write(log, 10, 5), write(log, 20, 5), write(log, 25, 5))
    val plan = log.plan(segments, 3, 33)
    assert(plan.gaps.map(gap => (gap.from, gap.until)) == Seq((3, 10), (15, 20), (30, 33)))
    assert(rows(store, plan) == (10L until 15L) ++ (20L until 30L))
    store.delete(segments(1).name)
    val without = journal(store).plan(segments, 21, 30)
    assert(without.gaps.map(gap => (gap.from, gap.until)) == Seq((21, 25)))
    assert(without.gaps.head.reason.contains("it is not there") && rows(store, without) == (25L until 30L))
  }

  test("J7: any part of a journal reads the same after a restart, split into any number of tasks") {
    val store = new MemoryFileStore
    val log = journal(store)
    val segments = Seq(write(log, 0, 3, 1, 7, 2), write(log, 13, 20), write(log, 33, 1, 1, 1, 9))
    val bounds = Gen.choose(0L, 45L)
    assert(log.plan(segments, 16, 16) == JournalPlan(Nil, Nil, 16), "no rows, within a frame")
    forAll(bounds, bounds, Gen.choose(1, 12)) { (a, b, parts) =>
      val (from, until) = (math.min(a, b), math.max(a, b))
      Seq(log, journal(store)).foreach { reader =>
        val plan = reader.plan(segments, from, until)
        assert(plan.gaps.isEmpty && rows(store, plan) == (from until until))
        val groups = plan.split(parts)
        assert(groups.flatten == plan.slices && groups.size <= parts && groups.forall(_.nonEmpty))
        assert(plan.split(groups.size) == groups, "as many groups are the same groups")
      }
    }
  }

  test("J8: the rows of the last three committed epochs stay, and earlier ones are removed") {
    val store = new MemoryFileStore
    val log = journal(store)
    // Each batch ends within the segment that it began to read: it needs that one and the one before.
    val segments = (0 to 9).map(i => write(log, i * 10L, 10))
    def named(i: Int): Seq[Segment] = segments.slice(i - 1, i + 1)
    val orphan = log.begin(5).name
    (1 to 8).foreach { i =>
      log.release(i * 10L + 5, named(i))
      log.release(i * 10L + 5, named(i))
      val lowest = if (i <= Journal.Kept) 0 else i - Journal.Kept - 1
      assert(store.names().filterNot(_ == orphan) == segments.map(_.name).drop(lowest), s"after epoch $i")
      assert(store.names().contains(orphan) == (i <= Journal.Kept))
    }
  }

  test("J8: runs of one batch each leave only a few segments") {
    val store = new MemoryFileStore
    val segments = (0 to 20).map { i =>
      val log = journal(store)
      val segment = write(log, i * 10L, 10)
      if (i > 0) log.release(i * 10L, Seq(write(journal(store), i * 10L - 10, 10)))
      segment
    }
    val left = store.names().flatMap(Segment.from)
    assert(left.distinct.size <= Journal.Kept + 2 && left.contains(segments.last.from))
    assert(left.min >= 200 - 10 - Journal.Kept * 10)
  }

  test("J8: unsealed files of killed runs do not count among the segments that stay") {
    val store = new MemoryFileStore
    val segments = (0 to 5).map { i =>
      (1 to 4).foreach(_ => journal(store).begin(i * 10L).name)
      write(journal(store), i * 10L, 10)
    }
    journal(store).release(60, Seq(segments.last))
    val left = segments.map(_.name).filter(store.names().contains)
    assert(left == segments.map(_.name).takeRight(Journal.Kept + 1) && store.names().size == 5 * (Journal.Kept + 1))
  }

  test("J8: after enough commits a run removes the segments of earlier runs, and no other files") {
    val store = new MemoryFileStore
    val before = write(journal(store), 0, 10)
    store.files("initial-offset") = Array[Byte](1)
    val log = journal(store)
    val segments = (1 to 6).map(i => write(log, i * 10L, 10))
    (1 to 5).foreach(i => log.release(i * 10L + 10, Seq(segments(i - 1))))
    assert(!store.names().contains(before.name) && store.names().contains("initial-offset"))
    assert(store.names().contains(segments.last.name))
  }

  test("rows are delivered once, in order, over any writes, truncations, replays and restarts") {
    val step = Gen.zip(Gen.listOf(Gen.choose(1, 9)), Gen.choose(0, 100), Gen.oneOf(true, false), Gen.oneOf(true, false))
    forAll(Gen.listOf(step), sizeRange(40)) { steps =>
      val store = new MemoryFileStore
      var log = journal(store)
      var logged = Vector((0L, Seq.empty[Segment]))
      var delivered = Vector.empty[Long]
      var fresh = true
      var readable = Journal.Kept
      steps.foreach { case (frames, percent, crashes, restarts) =>
        val (from, held) = logged.last
        if (crashes) {
          frames.foreach(append(log.begin(held.lastOption.fold(from)(_.until)), _))
          log = journal(store)
          fresh = true
        }
        val end = held.lastOption.fold(from)(_.until)
        val segments = held.filter(_.until > from) ++ Option.when(frames.nonEmpty)(write(log, end, frames: _*))
        val until = from + (segments.lastOption.fold(from)(_.until) - from) * percent / 100
        if (until > from) {
          logged :+= ((until, segments))
          log.release(from, held)
          // A run that commits for the first time does not know the previous epoch.
          readable = if (fresh) Journal.Kept - 1 else Journal.Kept
          fresh = restarts
          if (restarts) log = journal(store)
          delivered ++= rows(store, log.plan(segments, from, until))
          val again = journal(store).plan(segments, from, until)
          assert(again.gaps.isEmpty && rows(store, again) == (from until until))
        }
        // Each of the kept epochs can still be read.
        logged.sliding(2).toSeq.takeRight(readable).foreach {
          case Seq((start, _), (stop, its)) =>
            assert(rows(store, journal(store).plan(its, start, stop)) == (start until stop))
          case _ => ()
        }
      }
      assert(delivered == (0L until logged.last._1))
    }
  }

  test("a segment round-trips through its JSON, and invalid JSON is rejected") {
    val mapper = new ObjectMapper
    val segment = write(journal(new MemoryFileStore), 7, 3)
    val node = mapper.createObjectNode()
    Segment.write(segment, node)
    assert(Segment.read(mapper.readTree(node.toString)) == segment)
    val frozen =
      """{"name":"0000000000000000007-0123456789abcdef0123456789abcdef-1.seg","from":7,"until":10,"index":100,"bytes":120,"crc":"fedcba98"}"""
    assert(Segment.read(mapper.readTree(frozen)).crc == 0xfedcba98)
    Seq(
      "0000000000000000007-" -> "../",
      "\"from\":7" -> "\"from\":70",
      "\"until\":10" -> "\"until\":-1",
      "fedcba98" -> "x").foreach { case (what, by) =>
      intercept[IllegalArgumentException](Segment.read(mapper.readTree(frozen.replace(what, by))))
    }
  }

  private def shouldBeRightOrGone(store: FileStore, segment: Segment): Unit = {
    val plan = journal(store).plan(Seq(segment), segment.from, segment.until)
    val covered = plan.slices.map(_.take.toLong).sum + plan.gaps.map(gap => gap.until - gap.from).sum
    assert(covered == segment.until - segment.from)
    plan.slices.foreach { slice =>
      try assert(rows(store, slice) == (slice.first until slice.first + slice.take))
      catch { case _: JournalDamage => () }
    }
  }
}
