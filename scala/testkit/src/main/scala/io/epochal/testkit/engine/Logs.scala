package io.epochal.testkit.engine

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

/** Spark's logs in a checkpoint. */
private[testkit] object Logs {

  /** The epochs in `offsets` or `commits`. */
  def epochs(checkpoint: Path, log: String): Seq[Long] = {
    val directory = checkpoint.resolve(log)
    if (!Files.isDirectory(directory)) Nil
    else
      Using
        .resource(Files.list(directory))(_.iterator.asScala.map(_.getFileName.toString).toVector)
        .flatMap(_.toLongOption)
        .sorted
  }

  /** Has the last epoch come again at the next start: Spark commits after the sink. */
  def forgetLastCommit(checkpoint: Path): Unit = {
    val commits = checkpoint.resolve("commits")
    epochs(checkpoint, "commits").lastOption.foreach { last =>
      Files.deleteIfExists(commits.resolve(last.toString))
      Files.deleteIfExists(commits.resolve(s".$last.crc"))
    }
  }
}
