package io.epochal.testkit.engine

import java.net.URI

import org.apache.hadoop.fs.{Path, RawLocalFileSystem}

/** The local file system, at whose renames a query can be stopped: Spark's logs get their entries by them.
  *
  * Used by queries of the kit for their checkpoints.
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

  /** The setting of Hadoop that makes the scheme known. */
  val setting: (String, String) = s"fs.$Scheme.impl" -> classOf[StepFileSystem].getName

  private val Entry = ".*/checkpoint/(offsets|commits)/(\\d+)".r

  def uri(path: java.nio.file.Path): String = s"$Scheme://${path.toAbsolutePath}"
}
