package io.epochal.core.failpoint

import java.nio.file.StandardOpenOption.{APPEND, WRITE}
import java.nio.file.{Files, NoSuchFileException, Path, Paths}
import java.sql.SQLException
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger

/** A step of a sink or source at which a test can inject a failure. */
final class Failpoint private (val name: String) {
  override def toString: String = name
}

object Failpoint {
  private val declared = Seq.newBuilder[Failpoint]

  val BeforeClaim: Failpoint = step("claim.before")
  val AfterClaim: Failpoint = step("claim.after")
  val BeforeTaskCommit: Failpoint = step("task.before-commit")
  val AfterTaskCommit: Failpoint = step("task.after-commit")

  /** An attempt's rows are in staging; its commit message is not sent. */
  val TaskStaged: Failpoint = step("task.staged")

  /** An attempt's transaction is prepared; its commit message is not sent. */
  val TaskPrepared: Failpoint = step("task.prepared")
  val BeforeLedgerLock: Failpoint = step("ledger.before-lock")
  val AfterLoad: Failpoint = step("rows.loaded")
  val LedgerWritten: Failpoint = step("ledger.written")
  val BeforeCommit: Failpoint = step("commit.before")
  val AfterCommit: Failpoint = step("commit.after")

  /** Before and after each COMMIT PREPARED. */
  val BeforeCommitPrepared: Failpoint = step("prepared.before-commit")
  val AfterCommitPrepared: Failpoint = step("prepared.after-commit")

  /** Before and after the COMMIT of rows stored in the middle of an epoch. */
  val BeforeFlushCommit: Failpoint = step("flush.before-commit")
  val AfterFlushCommit: Failpoint = step("flush.after-commit")

  /** Before removing data that no epoch needs. */
  val BeforeCleanup: Failpoint = step("cleanup.before")

  /** The first offset of a stream is stored. */
  val FirstOffset: Failpoint = step("offset.first")

  /** A frame of rows that are acknowledged once they are durable is written, and synced. */
  val FrameWritten: Failpoint = step("journal.written")
  val FrameSynced: Failpoint = step("journal.synced")

  /** Segments that no replay needs are removed. */
  val SegmentsRemoved: Failpoint = step("journal.removed")

  /** The server has the publication of a change capture, and its slot. */
  val PublicationCreated: Failpoint = step("capture.publication")
  val SlotCreated: Failpoint = step("capture.slot")

  /** Rows of the snapshot are durable: a frame, the last one of a range, all. */
  val RowsCopied: Failpoint = step("capture.rows")
  val RangeCopied: Failpoint = step("capture.range")
  val SnapshotCopied: Failpoint = step("capture.snapshot")

  /** Changes are durable; the last transaction is, although it has no rows; both before they are confirmed to the server. */
  val ChangesStored: Failpoint = step("capture.changes")
  val WitnessStored: Failpoint = step("capture.witness")
  val ChangesConfirmed: Failpoint = step("capture.confirmed")

  val all: Seq[Failpoint] = declared.result()

  private def step(name: String): Failpoint = {
    val point = new Failpoint(name)
    declared += point
    point
  }
}

/** Test-only: does nothing, and costs one comparison with null, unless the JVM was started with the system property
  * `epochal.failpoints`, a list of `<step>=<action>` or `<step>=<action>@<n>` (the n-th time only) with semicolons between:
  *
  *   - `halt` ends the JVM at once, as SIGKILL does
  *   - `fail` throws, as any bug would
  *   - `fatal` throws an error of the JVM, as a class that cannot be loaded would
  *   - `disconnect` throws what a driver throws when the connection is lost
  *   - `hold:<file>` waits until the file is gone; adds the thread's name to it as a line
  */
private[epochal] object Failpoints {
  val Property = "epochal.failpoints"

  private val Spec = "([a-z.-]+)=([a-z]+)(?::([^@]+))?(?:@(\\d+))?".r

  private val held = ConcurrentHashMap.newKeySet[Failpoint]()

  @volatile private var armed: Seq[Armed] = parse(System.getProperty(Property))

  /** For tests in this JVM: arms failpoints as the system property does. */
  def arm(spec: String): Unit = {
    held.clear()
    armed = parse(spec)
  }

  def disarm(): Unit = armed = null

  def reach(point: Failpoint): Unit = {
    val now = armed
    if (now != null) now.filter(_.point == point).foreach(_.reach())
  }

  private def parse(spec: String): Seq[Armed] =
    if (spec == null || spec.isEmpty) null
    else
      spec.split(';').toSeq.map {
        case Spec(name, action, argument, time) =>
          val point =
            Failpoint.all.find(_.name == name).getOrElse(throw new IllegalArgumentException(s"no failpoint '$name'"))
          new Armed(point, action, argument, Option(time).map(_.toInt))
        case other => throw new IllegalArgumentException(s"not a failpoint: '$other'")
      }

  final private class Armed(val point: Failpoint, action: String, argument: String, time: Option[Int]) {
    private val times = new AtomicInteger

    def reach(): Unit = if (time.forall(_ == times.incrementAndGet())) action match {
      case "halt"       => Runtime.getRuntime.halt(137)
      case "fail"       => throw new IllegalStateException(s"failpoint ${point.name}")
      case "fatal"      => throw new LinkageError(s"failpoint ${point.name}")
      case "disconnect" => throw new SQLException(s"failpoint ${point.name}", "08006")
      case "hold"       => hold()
      case other        => throw new IllegalArgumentException(s"no action '$other'")
    }

    private def hold(): Unit = {
      val file = Paths.get(argument)
      held.add(point): Unit
      var announced = false
      while (Files.exists(file)) {
        announced ||= announce(file)
        Thread.sleep(5)
      }
    }

    /** Adds the thread's name to the file; false if the file no longer exists. */
    private def announce(file: Path): Boolean =
      try {
        Files.writeString(file, s"${Thread.currentThread.getName}\n", WRITE, APPEND): Unit
        true
      } catch { case _: NoSuchFileException => false }
  }

  /** Whether a thread waits, or has waited, at the failpoint since it was armed. */
  def isHeld(point: Failpoint): Boolean = held.contains(point)
}
