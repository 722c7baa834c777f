package io.epochal.testkit.engine

import java.net.URI
import java.util.concurrent.{ConcurrentHashMap, CountDownLatch}

import org.apache.hadoop.fs.{Path, RawLocalFileSystem}

/** The steps at which queries of this process pause: at most one per query, and only if armed. A query is identified by its scene's
  * directory.
  */
object Steps {

  final private case class Armed(step: Step, epoch: Long, reached: () => Unit, go: CountDownLatch)

  private val armed = new ConcurrentHashMap[String, Armed]

  /** Makes a query pause at a step of an epoch, where `reached` is called once. */
  private[engine] def arm(scene: String, step: Step, epoch: Long)(reached: => Unit): Unit = {
    val _ = armed.put(scene, Armed(step, epoch, () => reached, new CountDownLatch(1)))
  }

  /** Lets a paused query continue. */
  private[engine] def go(scene: String): Unit = Option(armed.get(scene)).foreach(_.go.countDown())

  /** Called at each step of each query; returns immediately unless the step is armed. */
  private[engine] def at(scene: String, step: Step, epoch: Long): Unit =
    Option(armed.get(scene)).filter(one => one.step == step && one.epoch == epoch).foreach { one =>
      one.synchronized(if (one.go.getCount > 0) one.reached())
      // Ignores the interrupt of a stopping query: this process will be killed.
      while (one.go.getCount > 0)
        try one.go.await()
        catch { case _: InterruptedException => () }
    }

  /** Like [[at]], for a path: the scene is the armed directory that contains it. */
  private[engine] def atPath(path: String, step: Step, epoch: Long): Unit =
    if (!armed.isEmpty)
      armed.keySet.forEach(scene => if (path.startsWith(scene + "/")) at(scene, step, epoch))
}

/** A step of an epoch at which a process can be killed. */
sealed abstract class Step(val name: String, val claim: String)

object Step {
  case object BeforeOffsets extends Step("before-offsets", "before the epoch's offsets are logged")
  case object AfterOffsets extends Step("after-offsets", "after the epoch's offsets were logged")
  case object InTasks extends Step("in-tasks", "while its tasks run")
  case object BeforeSinkCommit extends Step("before-sink-commit", "after its tasks, before the sink's commit")
  case object InSinkCommit extends Step("in-sink-commit", "during the sink's commit")
  case object BeforeCommitLog extends Step("before-commit-log", "after the sink's commit, before Spark's")
  case object AfterCommitLog extends Step("after-commit-log", "after Spark logged the commit")

  val all: Seq[Step] =
    Seq(BeforeOffsets, AfterOffsets, InTasks, BeforeSinkCommit, InSinkCommit, BeforeCommitLog, AfterCommitLog)

  def named(name: String): Step =
    all.find(_.name == name).getOrElse(throw new IllegalArgumentException(s"no such step: $name"))
}

/** Local file system for the checkpoints of the kit's queries. Pauses a query at a rename, by which Spark creates log entries.
  */
final class StepFileSystem extends RawLocalFileSystem {
  import StepFileSystem._

  override def getUri: URI = URI.create(s"$Scheme:///")

  override def getScheme: String = Scheme

  override def rename(from: Path, to: Path): Boolean = {
    val path = to.toUri.getPath
    def at(offsets: Step, commits: Step): Unit = path match {
      case Entry("offsets", epoch) => Steps.atPath(path, offsets, epoch.toLong)
      case Entry(_, epoch)         => Steps.atPath(path, commits, epoch.toLong)
      case _                       => ()
    }
    at(Step.BeforeOffsets, Step.BeforeCommitLog)
    val done = super.rename(from, to)
    at(Step.AfterOffsets, Step.AfterCommitLog)
    done
  }
}

private[testkit] object StepFileSystem {
  val Scheme = "epochal-steps"

  /** Hadoop setting that registers the scheme. */
  val setting: (String, String) = s"fs.$Scheme.impl" -> classOf[StepFileSystem].getName

  private val Entry = ".*/checkpoint/(offsets|commits)/(\\d+)".r

  def uri(path: java.nio.file.Path): String = s"$Scheme://${path.toAbsolutePath}"
}
