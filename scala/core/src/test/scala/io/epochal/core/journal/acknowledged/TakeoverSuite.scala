package io.epochal.core.journal.acknowledged

import org.scalatest.funsuite.AnyFunSuite

/** A new run's view of the files of earlier ones, and its treatment of their last frame. */
final class TakeoverSuite extends AnyFunSuite {

  test("A4, A5: rows acknowledged after a failed frame exist, even if their segments end with the rows of that frame") {
    val disk = new AcknowledgedDisk
    val first = disk.run()
    disk.append(first, "abc"): Unit
    disk.segments.syncFails = true
    assert(!disk.tryAppend(first, "lost12"))
    disk.segments.syncFails = false
    disk.append(first, "def"): Unit
    first.close()
    disk.append(first, "ghi"): Unit
    val second = disk.run()
    assert(disk.rows(second) == "abcdefghi")
    disk.append(second, "XY"): Unit
    assert(disk.rows(disk.run()) == "abcdefghiXY")
  }

  test("A4: a last frame that was taken over unsynced is in a synced segment of the new run, and its key is known") {
    Seq(false, true).foreach { alone =>
      val disk = new AcknowledgedDisk
      val first = disk.run()
      if (!alone) disk.append(first, "abc"): Unit
      val synced = disk.segments.files.toMap
      disk.segments.syncFails = true
      assert(!disk.tryAppend(first, "def"))
      disk.segments.syncFails = false
      val second = disk.run()
      val (before, restored) = (disk.rows(second), disk.restored(second))
      assert(before == (if (alone) "def" else "abcdef") && restored.endsWith("def"))
      // A power loss: unsynced bytes are lost.
      disk.segments.files.filterInPlace { case (name, _) => SegmentIndex.parse(name).exists(_._1 == 2) }
      disk.segments.files ++= synced
      assert(disk.rows(disk.run()) == before)
    }
  }

  test("A4: carried state stays if the frame after it is rewritten") {
    val disk = new AcknowledgedDisk
    val first = disk.run(segmentBytes = 1)
    disk.append(first, "ab", carry = "0"): Unit
    disk.append(first, "cd", carry = "1"): Unit
    (1 to 4).foreach { _ =>
      val next = disk.run()
      assert(disk.restored(next) == "[1]cd" && disk.rows(next) == "abcd")
      next.sweep()
    }
  }

  test("A4, A5: a run that was frozen before its first write, and writes after two takeovers, truncates nothing") {
    val disk = new AcknowledgedDisk
    val old = disk.run()
    disk.append(old, "abc"): Unit
    disk.segments.syncFails = true
    assert(!disk.tryAppend(old, "def"))
    disk.segments.syncFails = false
    // After it has looked at the generations, and before its file exists.
    var taken = ""
    val acknowledged = disk.interleaved(1) {
      taken = disk.rows(disk.run())
    }(disk.tryAppend(old, "ghi"))
    assert(!acknowledged && taken == "abcdef")
    assert(disk.rows(disk.run()) == "abcdef")
  }

  test("A4: if the last frame cannot be rewritten, the run does not start, and nothing is lost") {
    val disk = new AcknowledgedDisk
    disk.append(disk.run(), "abc"): Unit
    (0 to 100 by 10).foreach { room =>
      disk.segments.room = room.toLong
      val _ = intercept[java.io.IOException](disk.run())
    }
    disk.segments.room = Long.MaxValue
    assert(disk.rows(disk.run()) == "abc")
  }

  test("a damaged header hides no frame") {
    val disk = new AcknowledgedDisk
    val journal = disk.run()
    Seq("abc", "de").foreach(disk.append(journal, _, carry = "state"))
    val (name, whole) = disk.segments.files.head
    val header = whole.indexOfSlice("source".getBytes) + "source".length + 4
    (0 until header).foreach { at =>
      val damaged = disk.copy()
      val bytes = whole.clone
      bytes(at) = (bytes(at) ^ 0x10).toByte
      damaged.segments.files(name) = bytes
      assert(damaged.rows(damaged.run()) == "abcde", s"byte $at")
    }
  }

  test("segments are ordered by number, with any number of digits") {
    val disk = new AcknowledgedDisk
    disk.append(disk.run(), "ab"): Unit
    val (name, bytes) = disk.segments.files.head
    disk.segments.files.clear()
    disk.segments.files(name.replace("-000000001-", "-999999999-")) = bytes
    val other = new AcknowledgedDisk
    val first = other.run()
    first.skipTo(2)
    other.append(first, "cd"): Unit
    disk.segments.files(name.replace("-000000001-", "-1000000000-")) = other.segments.files.values.head
    assert(disk.rows(disk.run()) == "abcd")
  }
}
