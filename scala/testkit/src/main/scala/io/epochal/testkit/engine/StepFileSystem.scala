package io.epochal.testkit.engine

import java.net.URI

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path, RawLocalFileSystem}

/** Local file system for the checkpoints of the kit's queries. Pauses a query at a rename, by which Spark creates log entries.
  */
final class StepFileSystem extends RawLocalFileSystem {
  import StepFileSystem._

  override def getUri: URI = URI.create(s"$Scheme:///")

  override def getScheme: String = Scheme

  override def rename(from: Path, to: Path): Boolean = {
    def at(offsets: KillStep, commits: KillStep): Unit = to.toUri.getPath match {
      case Entry(scene, log, epoch) => Steps.at(scene, if (log == "offsets") offsets else commits, epoch.toLong)
      case _                        => ()
    }
    at(KillStep.BeforeOffsets, KillStep.BeforeCommitLog)
    val isRenamed = super.rename(from, to)
    at(KillStep.AfterOffsets, KillStep.AfterCommitLog)
    isRenamed
  }
}

private[testkit] object StepFileSystem {
  val Scheme = "epochal-steps"

  def register(hadoop: Configuration): Unit = hadoop.set(s"fs.$Scheme.impl", classOf[StepFileSystem].getName)

  private val Entry = "(.*)/checkpoint/(offsets|commits)/(\\d+)".r

  def uri(path: java.nio.file.Path): String = s"$Scheme://${path.toAbsolutePath}"
}
