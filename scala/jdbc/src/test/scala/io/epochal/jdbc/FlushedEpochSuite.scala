package io.epochal.jdbc

import java.nio.file.Files
import java.util.concurrent.atomic.AtomicReference

import org.scalatest.concurrent.Eventually.eventually

import io.epochal.core.error.Conditions
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.ledger.TriggerMode

/** An epoch whose rows are stored while it runs, and Spark's offset log: entries of its own and of other runs. */
final class FlushedEpochSuite extends FlushingJobs(Postgres) {

  /** Ends an epoch on another thread, which is held when its commit is about to lock the ledger.
    *
    * @return
    *   the thread's failure
    */
  private def held(running: Job)(meanwhile: Thread => Unit): Option[Throwable] = {
    val gate = Files.createTempFile("epochal", "gate")
    Failpoints.arm(s"ledger.before-lock=hold:$gate@1")
    val failure = new AtomicReference[Option[Throwable]](None)
    val thread = new Thread(
      () =>
        try running.end()
        catch { case error: Throwable => failure.set(Some(error)) },
      "commit")
    thread.start()
    try {
      eventually(assert(Failpoints.isHeld(Failpoint.BeforeLedgerLock)))
      meanwhile(thread)
    } finally Files.deleteIfExists(gate): Unit
    thread.join(30000)
    Failpoints.disarm()
    failure.get
  }

  private def offsets(f: JdbcSinkFixture): Seq[String] =
    f.checkpoint.resolve("offsets").toFile.list.toSeq.sorted

  private def aside(f: JdbcSinkFixture): Seq[String] =
    Option(f.checkpoint.resolve("epochal-offsets").toFile.list).toSeq.flatten.map(_.takeWhile(_ != '-')).sorted

  both.foreach { trigger =>
    on(s"${trigger.name}: offsets that another run logs while the commit waits for the ledger end it", table) { f =>
      val running = job(f, trigger, 0)
      running.put(0, 0 until 5)
      val failure = held(running)(_ => f.logOffsets(0, """{"at":"another"}"""))
      assert(failure.exists(_.getMessage.contains("EPOCH_LOGGED_BY_OTHER")), failure)
      assert(ledger(f, "last_epoch") == null)
    }
  }

  on("continuous: an interruption of the commit ends the query, and not the thread of Spark's coordinator", table) {
    f =>
      val running = job(f, TriggerMode.Continuous, 0)
      running.put(0, 0 until 5)
      val failure = held(running)(_.interrupt())
      assert(failure.exists(!_.isInstanceOf[InterruptedException]), failure)
      assert(running.run.engine.failure.nonEmpty)
  }

  on("continuous: a start sets the offsets of an uncommitted epoch aside, once it has the ledger", table) { f =>
    val first = job(f, TriggerMode.Continuous, 0)
    first.put(0, 0 until 5)
    first.end()
    val again = job(f, TriggerMode.Continuous, 0)
    assert(offsets(f).isEmpty && aside(f) == Seq("0"))
    again.put(0, 0 until 5)
    again.end()
    holds(f, 0 until 5)
  }

  on("continuous: a start that the ledger refuses leaves the offset log as it is", table) { f =>
    val running = job(f, TriggerMode.Continuous, 0)
    running.end()
    running.next()
    running.end()
    // The directory commits was not restored.
    refused(Conditions.EpochRegressed)(job(f, TriggerMode.Continuous, 0))
    assert(offsets(f) == Seq("0", "1") && aside(f).isEmpty)
    f.database.execute("DELETE FROM epochal_ledger", "DELETE FROM epochal_ledger_boundary")
    refused(Conditions.CommitsMissing)(job(f, TriggerMode.Continuous, 0))
    assert(offsets(f) == Seq("0", "1") && aside(f).isEmpty)
  }

  on("micro-batches that are refused set their epoch aside", table) { f =>
    val first = job(f, TriggerMode.RealTime, 0)
    first.put(0, 0 until 10)
    first.end()
    f.logOffsets(0, "{}")
    val run = f.newRun(query, Map("sinkId" -> "sink"))
    run.engine.batch = Some(0)
    refused(Conditions.TriggerChanged)(write(f, run, 0, numbers(f, 0 until 10)))
    assert(aside(f) == Seq("0"))
  }
}
