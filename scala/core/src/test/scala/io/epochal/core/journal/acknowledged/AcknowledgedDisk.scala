package io.epochal.core.journal.acknowledged

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Try

import io.epochal.core.journal.{Gap, Journal, MemoryFileStore}

/** A journal's two directories in memory, and the runs over them. */
final class AcknowledgedDisk(syncsOpenFiles: Boolean = true, isConditional: Boolean = false) {
  val segments = new MemoryFileStore(syncsOpenFiles, isConditional)
  val generations = new MemoryFileStore(syncsOpenFiles, isConditional)
  private var runs = 0

  def run(segmentBytes: Long = 1L << 20): AcknowledgedJournal = {
    runs += 1
    AcknowledgedJournal.take(segments, generations, "source", segmentBytes, "%016x%016x".format(runs, runs))
  }

  /** The same files on another disk. */
  def copy(): AcknowledgedDisk = {
    val other = new AcknowledgedDisk(syncsOpenFiles, isConditional)
    other.segments.files ++= segments.files.view.mapValues(_.clone)
    other.generations.files ++= generations.files
    other.runs = runs
    other
  }

  /** Appends rows, one byte each. */
  def append(journal: AcknowledgedJournal, rows: String, carry: String = ""): Long =
    journal.append(rows.length, rows.getBytes(UTF_8), 0, rows.length)(carry.getBytes(UTF_8))

  /** Whether the rows were acknowledged. */
  def tryAppend(journal: AcknowledgedJournal, rows: String): Boolean = Try(append(journal, rows)) match {
    case scala.util.Failure(_: IOException | _: JournalFenced) => false
    case other                                                 => other.map(_ => true).get
  }

  /** Runs an action, and another one before its step number `step`, if it has that many. */
  def interleaved[A](step: Int)(other: => Unit)(body: => A): A = {
    var passed = 0
    def stepped(): Unit = {
      passed += 1
      if (passed == step + 1) {
        val failing = segments.syncFails
        Seq(segments, generations).foreach(_.before = _ => ())
        segments.syncFails = false
        other
        segments.syncFails = failing
      }
    }
    Seq(segments, generations).foreach(_.before = _ => stepped())
    try body
    finally Seq(segments, generations).foreach(_.before = _ => ())
  }

  /** All rows from one on, with `.` for each missing row. */
  def rows(journal: AcknowledgedJournal, from: Long = 0, until: Long = -1): String = {
    val end = if (until < 0) journal.until else until
    val plan = journal.plan(from, end)
    val texts = plan.slices.map { slice =>
      val bytes = new Array[Byte](slice.frame.length)
      Journal.read(segments.open(slice.segment), slice)(_ => bytes)
      slice.first -> new String(bytes, slice.skip, slice.take, UTF_8)
    } ++ plan.gaps.map { case Gap(first, last, _) => first -> "." * (last - first).toInt }
    texts.sortBy(_._1).map(_._2).mkString
  }

  def restored(journal: AcknowledgedJournal): String = {
    val found = new StringBuilder
    journal.restore(state => found ++= s"[${new String(state, UTF_8)}]": Unit)((bytes, length) =>
      found ++= new String(bytes, 0, length, UTF_8): Unit)
    found.toString
  }
}

object AcknowledgedDisk {

  /** Kinds of stores, by name. */
  val Kinds: Seq[(String, () => AcknowledgedDisk)] = Seq(
    "a disk" -> (() => new AcknowledgedDisk),
    "a store that cannot sync open files" -> (() => new AcknowledgedDisk(syncsOpenFiles = false)),
    "a store with conditional creation" -> (() => new AcknowledgedDisk(syncsOpenFiles = false, isConditional = true))
  )
}
