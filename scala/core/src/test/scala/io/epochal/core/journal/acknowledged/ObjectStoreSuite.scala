package io.epochal.core.journal.acknowledged

import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.atomic.AtomicInteger

import scala.collection.concurrent.TrieMap

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.journal.{FileInput, FileOutput, FileStore, JournalDamage, MemoryFileStore}

/** Files, requests and time of a journal on a store where each request is slow, and open files are not synced. */
final class ObjectStoreSuite extends AnyFunSuite {

  /** Counts requests as an object store has them: one to read a file whose length is known, two if it is not. */
  final private class CountingStore(store: MemoryFileStore) extends FileStore {
    val requests: TrieMap[String, Int] = TrieMap.empty
    val reading, mostReading = new AtomicInteger
    @volatile var slow = false

    private def count(kind: String, by: Int = 1): Unit =
      requests.updateWith(kind)(before => Some(before.getOrElse(0) + by)): Unit

    def total: Int = requests.values.sum
    override def create(name: String): FileOutput = {
      count("check", 2)
      createUnique(name)
    }
    override def createUnique(name: String): FileOutput = {
      count("put")
      store.create(name)
    }
    override def createConditionally(name: String): Option[FileOutput] = {
      val file = store.createConditionally(name)
      file.foreach(_ => count("put"))
      file
    }
    override def open(name: String): FileInput = {
      count("head")
      open(name, 0)
    }
    override def open(name: String, length: Long): FileInput = {
      count("get")
      mostReading.accumulateAndGet(reading.incrementAndGet(), math.max): Unit
      // A reader that is not alone does not wait for the others for ever.
      if (slow) eventuallyCrowded()
      reading.decrementAndGet(): Unit
      store.open(name)
    }
    override def exists(name: String): Boolean = {
      count("head")
      store.exists(name)
    }
    override def names(): Seq[String] = {
      count("list")
      store.names()
    }
    override def lengths(): Map[String, Long] = {
      count("list")
      store.files.view.mapValues(_.length.toLong).toMap
    }
    override def delete(name: String): Unit = store.delete(name)

    private def eventuallyCrowded(): Unit = {
      val end = System.nanoTime() + 5000000000L
      while (mostReading.get < 16 && System.nanoTime() < end) Thread.`yield`()
      slow = false
    }
  }

  final private class Disk(isConditional: Boolean = false) {
    val files = new MemoryFileStore(syncsOpenFiles = false, isConditional)
    val segments = new CountingStore(files)
    val generations = new CountingStore(new MemoryFileStore(syncsOpenFiles = false, isConditional))
    private var runs = 0
    def run(): AcknowledgedJournal = {
      runs += 1
      AcknowledgedJournal.take(segments, generations, "source", 64L << 20, "%016x%016x".format(runs, runs))
    }
    def append(journal: AcknowledgedJournal, rows: String, carry: => String = "state"): Long =
      journal.append(rows.length, rows.getBytes(UTF_8), 0, rows.length)(carry.getBytes(UTF_8))
    def requests(action: => Unit): Map[String, Int] = {
      Seq(segments, generations).foreach(_.requests.clear())
      action
      (segments.requests.toSeq ++ generations.requests.toSeq).groupMapReduce(_._1)(_._2)(_ + _)
    }
  }

  for (isConditional <- Seq(false, true))
    test(s"A8: after each committed epoch the files of three epochs stay (conditional creation: $isConditional)") {
      val disk = new Disk(isConditional)
      val journal = disk.run()
      journal.startFrom(0)
      val kept = (1 to 50).map { _ =>
        (1 to 7).foreach(_ => disk.append(journal, "ab"))
        journal.release(journal.until)
        disk.files.files.size
      }
      assert(kept.drop(5).max <= 3 * 7 + 1, kept)
      assert(disk.run().until == journal.until)
    }

  test("A9: a large state is not carried with each epoch, but the files stay few") {
    val disk = new Disk
    val journal = disk.run()
    journal.startFrom(0)
    var carried = 0
    (1 to 200).foreach { _ =>
      disk.append(journal, "ab", { carried += 1; "k" * (1 << 20) })
      journal.release(journal.until)
    }
    assert(carried <= 200 / 16 + 1 && disk.files.files.size <= 2 * 16 + 4, s"$carried carried")
  }

  test("a start reads each file once, sixteen at a time") {
    val disk = new Disk
    val journal = disk.run()
    (1 to 400).foreach(_ => disk.append(journal, "ab"))
    disk.segments.slow = true
    val restored = new StringBuilder
    val requests = disk.requests {
      val next = disk.run()
      assert(next.until == 800)
      next.restore(state => restored ++= new String(state, UTF_8): Unit)((bytes, length) =>
        restored ++= new String(bytes, 0, length, UTF_8): Unit)
    }
    assert(restored.toString == "state" + "ab" * 400)
    assert(disk.segments.mostReading.get == 16)
    assert(requests.values.sum <= 400 + 12 && requests("get") == 401, requests)
  }

  test("an acknowledgement is one request with conditional creation, and else one more") {
    val requests = Seq(true, false).map { isConditional =>
      val disk = new Disk(isConditional)
      val journal = disk.run()
      disk.append(journal, "ab"): Unit
      disk.requests(disk.append(journal, "cd"): Unit)
    }
    assert(requests == Seq(Map("put" -> 1), Map("put" -> 1, "list" -> 1)))
  }

  test("a plan lists the files once, and reads none") {
    val disk = new Disk
    val journal = disk.run()
    (1 to 100).foreach(_ => disk.append(journal, "ab"))
    assert(disk.requests(assert(journal.plan(0, 200).slices.size == 100)) == Map("list" -> 1))
  }

  test("the size of the backlog, computed for each frame, takes no longer with more segments") {
    val disk = new Disk
    val journal = disk.run()
    (1 to 20000).foreach(_ => disk.append(journal, "ab"))
    assert(journal.bytesFrom(0) == 20000L * (32 + 2) && journal.bytesFrom(39999) == 34 && journal.bytesFrom(40000) == 0)
    val end = System.nanoTime() + 10000000000L
    assert((1 to 200000).forall(row => journal.bytesFrom(row % 40000L) >= 0 && System.nanoTime() < end))
  }

  test(
    "A11: a run that lost the response of a store recognises its own frame, and a failed one is not mistaken for it") {
    val disk = new Disk(isConditional = true)
    val journal = disk.run()
    disk.append(journal, "ab"): Unit
    disk.files.syncFails = true
    intercept[java.io.IOException](disk.append(journal, "cd")): Unit
    disk.files.syncFails = false
    // The same frame: it is there already.
    assert(disk.append(journal, "cd") == 2 && disk.files.files.size == 2)
    disk.files.syncFails = true
    intercept[java.io.IOException](disk.append(journal, "lost")): Unit
    disk.files.syncFails = false
    assert(disk.append(journal, "ef") == 4 && disk.run().until == 6)
  }

  test("A11: barriers stay, and a run that was closed needs none") {
    val disk = new Disk(isConditional = true)
    val first = disk.run()
    disk.append(first, "ab"): Unit
    (1 to 3).foreach(_ => disk.run().close())
    val second = disk.run()
    Seq(2L, 2L).foreach(second.release)
    second.sweep()
    val barriers = disk.files.files.filter { case (name, bytes) => name.endsWith(".ack") && bytes.length < 60 }
    assert(barriers.size == 1 && barriers.head._1.startsWith("%019d-%09d".format(1, 2)))
    intercept[JournalFenced](disk.append(first, "cd")): Unit
    assert(first.isFenced)
  }

  test("A11: a run without conditional creation does not take over from one that relies on it and may still write") {
    val disk = new Disk(isConditional = true)
    val first = disk.run()
    disk.append(first, "ab"): Unit
    def without() = {
      val copy = new MemoryFileStore()
      copy.files ++= disk.files.files
      AcknowledgedJournal.take(
        copy,
        new FileStore {
          override def create(name: String): FileOutput = disk.generations.createUnique(name)
          override def open(name: String): FileInput = disk.generations.open(name)
          override def exists(name: String): Boolean = disk.generations.exists(name)
          override def names(): Seq[String] = disk.generations.names()
          override def delete(name: String): Unit = disk.generations.delete(name)
        },
        "source")
    }
    assert(intercept[JournalDamage](without()).getMessage.contains("relies on conditional creation"))
    disk.run().close()
    assert(without().until == 2)
  }
}
