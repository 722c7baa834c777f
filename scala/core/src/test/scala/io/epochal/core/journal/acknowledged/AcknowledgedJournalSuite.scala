package io.epochal.core.journal.acknowledged

import org.scalacheck.{Gen, Prop, Test => Check}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import io.epochal.core.journal.JournalDamage

final class AcknowledgedJournalSuite extends AnyFunSuite {

  test("A4: the next run has all acknowledged rows, without any offset that names them") {
    val disk = new AcknowledgedDisk
    val first = disk.run()
    Seq("abc", "d", "ef").foreach(disk.append(first, _))
    assert(disk.rows(first) == "abcdef")
    val second = disk.run()
    assert(second.until == 6 && disk.rows(second) == "abcdef")
    assert(disk.append(second, "gh") == 6)
    assert(disk.rows(disk.run()) == "abcdefgh")
    assert(disk.rows(second, 1, 5) == "bcde" && disk.rows(second, 4, 7) == "efg")
  }

  test("A2, A4: torn at any byte, a segment yields every frame before that byte, and no part of one") {
    val disk = new AcknowledgedDisk
    val journal = disk.run()
    val ends = Seq("abc", "d", "efgh").map { rows =>
      disk.append(journal, rows, carry = "state")
      journal.until -> disk.segments.files.values.head.length
    }
    val (name, whole) = disk.segments.files.head
    (0 to whole.length).foreach { length =>
      val torn = disk.copy()
      torn.segments.files(name) = whole.take(length)
      val next = torn.run()
      val expected = ends.takeWhile(_._2 <= length).lastOption.fold(0L)(_._1)
      assert(next.until == expected, s"cut after $length bytes")
      assert(torn.append(next, "xyz") == expected)
      assert(torn.rows(torn.run()) == "abcdefgh".take(expected.toInt) + "xyz", s"cut after $length bytes")
    }
  }

  test("A2: a torn tail of zeros, or of any bytes, yields no row") {
    val disk = new AcknowledgedDisk
    disk.append(disk.run(), "abc"): Unit
    val (name, whole) = disk.segments.files.head
    Seq(Array.fill[Byte](100)(0), Array.fill[Byte](3)(-1), whole.take(40), Array.tabulate(5000)(_.toByte)).foreach {
      tail =>
        val torn = disk.copy()
        torn.segments.files(name) = whole ++ tail
        assert(torn.rows(torn.run()) == "abc")
    }
  }

  test("A2, A6: a changed byte in a synced frame is a gap, and never the end or another row") {
    val disk = new AcknowledgedDisk
    val journal = disk.run()
    disk.append(journal, "abc"): Unit
    val (name, before) = disk.segments.files.head
    disk.append(journal, "defg"): Unit
    val damageable = disk.segments.files(name).length
    disk.append(journal, "hi"): Unit
    val whole = disk.segments.files(name)
    (before.length until damageable).foreach { at =>
      val damaged = disk.copy()
      val bytes = whole.clone
      bytes(at) = (bytes(at) ^ 0x10).toByte
      damaged.segments.files(name) = bytes
      assert(damaged.rows(damaged.run()) == "abc....hi", s"byte $at")
    }
  }

  test("A6: a removed segment is a gap") {
    val disk = new AcknowledgedDisk
    val writer = disk.run(segmentBytes = 1)
    Seq("ab", "cd", "ef").foreach(disk.append(writer, _))
    val _ = disk.segments.files.remove(disk.segments.files.keys.toSeq(1))
    assert(disk.rows(disk.run()) == "ab..ef")
    val journal = disk.run()
    val _ = disk.segments.files.remove(disk.segments.files.keys.head)
    assert(disk.rows(journal) == "....ef" && journal.plan(0, 6).gaps.head.reason.contains("is not there"))
  }

  test("A3: a segment that is deleted while it is written accepts no more rows, and the next one continues") {
    val disk = new AcknowledgedDisk
    val journal = disk.run()
    disk.append(journal, "abc"): Unit
    disk.segments.files.remove(disk.segments.files.keys.head): Unit
    assert(!disk.tryAppend(journal, "lost"))
    assert(disk.append(journal, "def") == 3)
    assert(disk.rows(journal) == "...def" && disk.rows(disk.run()) == "...def")
  }

  test(
    "A1, A3, A5: with the disk full at any byte, later runs have every acknowledged row, and the next segment continues") {
    (0 to 400).foreach { room =>
      val disk = new AcknowledgedDisk
      val journal = disk.run()
      disk.append(journal, "abc"): Unit
      disk.segments.room = room.toLong
      val stored =
        Iterator.from(0).map(n => ('d' + n).toChar.toString * 5).takeWhile(disk.tryAppend(journal, _)).take(20).toVector
      disk.segments.room = Long.MaxValue
      val acknowledged = "abc" + stored.mkString
      assert(disk.rows(journal) == acknowledged, s"$room bytes of room")
      disk.append(journal, "XYZ"): Unit
      assert(disk.rows(journal) == acknowledged + "XYZ")
      assert(disk.rows(disk.run()) == acknowledged + "XYZ", s"$room bytes of room")
    }
  }

  test("A1, A5: after a failed sync a segment is never written again, and its last frame does not count") {
    val disk = new AcknowledgedDisk
    val journal = disk.run()
    disk.append(journal, "abc"): Unit
    disk.segments.syncFails = true
    assert(!disk.tryAppend(journal, "lost") && !disk.tryAppend(journal, "gone"))
    disk.segments.syncFails = false
    assert(disk.rows(journal) == "abc")
    val written = disk.segments.files.toMap
    assert(disk.append(journal, "def") == 3)
    val left = written.filter { case (name, _) => disk.segments.files.contains(name) }
    assert(left.nonEmpty)
    left.foreach { case (name, bytes) => assert(disk.segments.files(name).sameElements(bytes)) }
    assert(disk.rows(disk.run()) == "abcdef")
  }

  for ((kind, newDisk) <- AcknowledgedDisk.Kinds; syncFails <- Seq(false, true))
    test(
      "A3, A7, A10, A11: at any takeover the new run has all rows that its predecessor acknowledges, and keeps those it took over " +
        s"(on $kind, a sync fails: $syncFails)") {
      val steps = Iterator
        .from(0)
        .takeWhile { step =>
          val disk = newDisk()
          val old = disk.run(segmentBytes = 1)
          disk.append(old, "abc"): Unit
          disk.segments.syncFails = syncFails
          var taken = Option.empty[(AcknowledgedJournal, String)]
          val acknowledged = disk.interleaved(step) {
            val next = disk.run()
            taken = Some(next -> disk.rows(next))
          }(disk.tryAppend(old, "def"))
          disk.segments.syncFails = false
          val (next, before) = taken.getOrElse {
            val later = disk.run()
            later -> disk.rows(later)
          }
          assert(!acknowledged || before == "abcdef", s"taken over at step $step")
          assert(acknowledged == (taken.isEmpty && !syncFails), s"taken over at step $step")
          assert(!disk.tryAppend(old, "gh") && old.isFenced)
          // Regardless of the files that the predecessor left, its successor's rows keep their numbers, and none is a gap.
          assert(disk.rows(next) == before && !before.contains('.'), s"taken over at step $step")
          disk.append(next, "XY"): Unit
          assert(!disk.tryAppend(old, "jkl"))
          assert(disk.rows(disk.run()) == before + "XY", s"taken over at step $step")
          taken.nonEmpty
        }
        .size
      assert(steps >= (if (syncFails) 4 else 5), "create, writes, sync, and the listing of generations or the close")
    }

  for ((kind, newDisk) <- AcknowledgedDisk.Kinds; segmentBytes <- Seq(1L, 1L << 20))
    test(
      "A5, A10: a failed frame that a new run took over is not truncated by later segments of its predecessor " +
        s"(on $kind, segments of $segmentBytes bytes)") {
      val steps = Iterator
        .from(0)
        .takeWhile { step =>
          val disk = newDisk()
          val old = disk.run(segmentBytes)
          disk.append(old, "abc"): Unit
          disk.segments.syncFails = true
          assert(!disk.tryAppend(old, "def"))
          disk.segments.syncFails = false
          var found = Option.empty[String]
          val acknowledged = disk.interleaved(step) {
            val next = disk.run()
            disk.append(next, "XY"): Unit
            found = Some(disk.rows(next))
          }(disk.tryAppend(old, "gh"))
          assert(acknowledged == found.isEmpty, s"taken over at step $step")
          found.foreach(rows => assert(Set("abcdefXY", "abcghXY")(rows), s"taken over at step $step"))
          assert(disk.rows(disk.run()) == found.getOrElse("abcgh"), s"taken over at step $step")
          found.nonEmpty
        }
        .size
      assert(steps >= 6, "the listing of generations, create, writes, sync, and the listing of generations")
    }

  test("a run whose generation file was removed acknowledges nothing") {
    val disk = new AcknowledgedDisk
    val journal = disk.run()
    disk.append(journal, "ab"): Unit
    disk.generations.files.clear()
    assert(!disk.tryAppend(journal, "cd") && disk.rows(journal) == "ab")
  }

  test("A8: nothing is removed of the epoch that a run commits first, however many segments it has") {
    val disk = new AcknowledgedDisk(syncsOpenFiles = false)
    val first = disk.run(segmentBytes = 1)
    "abcdef".foreach(row => disk.append(first, row.toString))
    val second = disk.run(segmentBytes = 1)
    "ghijkl".foreach(row => disk.append(second, row.toString))
    second.startFrom(6)
    second.release(12)
    assert(disk.rows(second, 6) == "ghijkl")
    second.release(13)
    assert(disk.rows(second, 6) == "ghijkl")
  }

  test("A8: a segment that could not be removed is removed after a later epoch") {
    val disk = new AcknowledgedDisk
    val journal = disk.run(segmentBytes = 1)
    "abcdefgh".foreach(row => disk.append(journal, row.toString))
    Seq(2L, 3L, 4L).foreach(journal.release)
    disk.segments.deleteFails = true
    val _ = intercept[java.io.IOException](journal.release(5))
    assert(disk.segments.files.size == 8)
    disk.segments.deleteFails = false
    journal.release(6)
    assert(disk.segments.files.size == 5)
  }

  test("A10: files of failed frames are removed once later rows are acknowledged, and files without a frame at once") {
    val disk = new AcknowledgedDisk
    val journal = disk.run()
    disk.append(journal, "abc"): Unit
    journal.close()
    disk.segments.room = 150
    (1 to 3).foreach(_ => assert(!disk.tryAppend(journal, "x" * 200)))
    assert(disk.segments.files.size == 1)
    disk.segments.room = Long.MaxValue
    disk.segments.syncFails = true
    (1 to 3).foreach(_ => assert(!disk.tryAppend(journal, "def")))
    assert(disk.segments.files.size == 4)
    disk.segments.syncFails = false
    disk.append(journal, "gh"): Unit
    assert(disk.segments.files.size == 2 && disk.rows(journal) == "abcgh" && disk.rows(disk.run()) == "abcgh")
  }

  test("A3: synced rows are acknowledged even if their segment cannot be closed afterwards") {
    val disk = new AcknowledgedDisk
    val journal = disk.run(segmentBytes = 1)
    disk.segments.closeFails = true
    assert(disk.append(journal, "abc") == 0 && disk.append(journal, "de") == 3)
    journal.close()
    assert(disk.rows(journal) == "abcde" && disk.rows(disk.run()) == "abcde")
  }

  test("A7: whenever a new run is overtaken during its claim, one of the two is fenced") {
    (0 to 12).foreach { step =>
      val disk = new AcknowledgedDisk
      var passed = 0
      var other = Option.empty[AcknowledgedJournal]
      disk.generations.before = _ => {
        passed += 1
        if (passed == step) {
          disk.generations.before = _ => ()
          other = Some(disk.run())
        }
      }
      val one = disk.run()
      disk.generations.before = _ => ()
      val stored = (one +: other.toSeq).count(disk.tryAppend(_, "abc"))
      assert(stored == 1, s"overtaken at step $step")
    }
  }

  test("A8: a segment stays until its rows lie before the last three committed epochs") {
    val disk = new AcknowledgedDisk
    val journal = disk.run(segmentBytes = 1)
    "abcdefgh".foreach(row => disk.append(journal, row.toString))
    journal.release(2)
    journal.release(2)
    journal.release(3)
    journal.release(4)
    assert(disk.rows(journal) == "abcdefgh")
    journal.release(5)
    assert(disk.rows(journal) == "..cdefgh" && disk.segments.files.size == 6)
    Seq(6L, 7L, 8L).foreach(journal.release)
    assert(disk.rows(journal, 5) == "fgh" && journal.bytesFrom(5) > 0 && journal.bytesFrom(8) == 0)
    assert(disk.run().until == 8)
  }

  test("A8: of the rows that earlier runs delivered the last three segments stay, and numbering continues") {
    val disk = new AcknowledgedDisk
    (1 to 20).foreach { n =>
      val journal = disk.run()
      assert(disk.append(journal, "ab") == (n - 1) * 2L)
      journal.release(n * 2L)
      journal.sweep()
    }
    assert(disk.segments.files.size <= 5)
    assert(disk.run().until == 40)
  }

  test(
    "A9: the newest carried state and the frames after it are restored, also if a segment was torn in its first frame") {
    val disk = new AcknowledgedDisk
    val journal = disk.run(segmentBytes = 140)
    assert(disk.restored(journal) == "")
    disk.append(journal, "ab", carry = "0"): Unit
    disk.append(journal, "cd", carry = "never evaluated"): Unit
    disk.append(journal, "ef", carry = "abcd"): Unit
    assert(disk.restored(disk.copy().run()) == "[abcd]ef")
    val (name, whole) = disk.segments.files.last
    disk.segments.files(name) = whole.take(20)
    assert(disk.restored(disk.run()) == "[0]abcd")
  }

  test("state larger than a segment is not carried with every frame") {
    val disk = new AcknowledgedDisk
    val journal = disk.run(segmentBytes = 300)
    (1 to 6).foreach(_ => disk.append(journal, "x" * 30, carry = "k" * 1000))
    assert(disk.segments.files.size == 2)
  }

  test("a store that cannot sync open files has a segment for each frame, and carries state only occasionally") {
    val disk = new AcknowledgedDisk(syncsOpenFiles = false)
    val journal = disk.run(segmentBytes = 4)
    Seq("ab", "cd", "ef", "gh").foreach(rows => disk.append(journal, rows, carry = "state"))
    assert(disk.segments.files.size == 4 && disk.rows(disk.run()) == "abcdefgh")
    assert(disk.restored(disk.run()) == "[state]efgh")
  }

  test("missing rows can be skipped, and later rows are numbered after them") {
    val disk = new AcknowledgedDisk
    val journal = disk.run()
    disk.append(journal, "ab"): Unit
    journal.skipTo(10)
    assert(journal.until == 10 && disk.append(journal, "cd") == 10)
    val next = disk.run()
    assert(next.until == 12 && disk.rows(next, 10) == "cd" && disk.rows(next, 1) == "b........cd")
  }

  test("a byte limit is a number of rows, and splits a large frame if necessary") {
    val disk = new AcknowledgedDisk
    val journal = disk.run()
    Seq("ab", "cdef", "gh").foreach(disk.append(journal, _))
    assert(Seq(0L, 1L, 2L, 4L, 6L, 7L, 100L).map(journal.rowsWithin(0, _)) == Seq(0L, 1L, 2L, 4L, 6L, 7L, 8L))
    assert(journal.rowsWithin(3, 2) == 2 && journal.rowsWithin(8, 100) == 0)
  }

  test("a reader that waits for a row gets it when it is acknowledged, and waits no longer than its timeout") {
    val disk = new AcknowledgedDisk
    val journal = disk.run()
    assert(!journal.await(0, 5))
    val writer = new Thread(() => { val _ = disk.append(journal, "ab") })
    writer.start()
    assert(journal.await(1, 60000))
    writer.join()
  }

  test("a segment of another source, or of a newer version, is rejected") {
    val disk = new AcknowledgedDisk
    disk.append(disk.run(), "ab"): Unit
    val error = intercept[JournalDamage](AcknowledgedJournal.take(disk.segments, disk.generations, "other"))
    assert(error.getMessage.contains("belongs to the source 'source'"))
  }

  test("over any failures and deaths of runs, acknowledged rows exist once, in order", Slow) {
    val ops = Gen.listOf(Gen.frequency(8 -> "append", 2 -> "full", 2 -> "sync", 2 -> "die", 1 -> "torn", 2 -> "roll"))
    val property = Prop.forAll(ops, Gen.oneOf(AcknowledgedDisk.Kinds.map(_._2))) { (steps, newDisk) =>
      val disk = newDisk()
      var journal = disk.run(40)
      var acknowledged = Vector.empty[String]
      steps.zipWithIndex.foreach { case (step, n) =>
        val rows = s"<$n${"x" * (n * 5 % 7)}>" // Of many lengths: the rows of several frames may end together.
        step match {
          case "full" => disk.segments.room = (n * 7L) % 90
          case "sync" => disk.segments.syncFails = true
          case "die"  => journal = disk.run(40)
          case "torn" => // An unacknowledged frame, truncated.
            disk.segments.syncFails = true
            disk.tryAppend(journal, rows): Unit
            disk.segments.syncFails = false
            journal = disk.run(40)
          case "roll" => journal.close()
          case _      => ()
        }
        if (step != "torn" && disk.tryAppend(journal, rows)) acknowledged :+= rows
        disk.segments.room = Long.MaxValue
        disk.segments.syncFails = false
      }
      val found = disk.rows(disk.run()).split("(?<=>)").toVector.filter(_.nonEmpty)
      // In order and once; unacknowledged rows may be included.
      found.filter(acknowledged.contains) == acknowledged && found.distinct == found && !found.exists(_.contains('.'))
    }
    val result = Check.check(property)(_.withMinSuccessfulTests(300))
    assert(result.passed, result.status.toString)
  }
}
