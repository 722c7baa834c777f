package io.epochal.kit.store

import java.io.IOException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.epochal.core.journal.FileStore

/** Records from which epoch on the epochs in a checkpoint are of real-time runs.
  *
  * A real-time run removes the epochs that Spark has logged and not committed, and begins there again: its own entries were
  * only logged after the sink had committed. But if a micro-batch run has planned an epoch, the sink may have its rows, and
  * without the entry the epoch cannot be rerun unchanged. Spark's log does not distinguish the two.
  *
  * The record is an empty file in a stream's part of the checkpoint, `real-time-from-<epoch>`: created before a real-time run
  * begins, removed before a micro-batch run plans an epoch of its own. Without it epochs count as planned.
  *
  * @param next
  *   the epoch after the last committed one
  */
final class RealTimeRuns(part: FileStore, next: => Long) {
  import RealTimeRuns._

  /** Whether a real-time run began the epoch, if it is not committed. */
  def began(epoch: Long): Boolean = files.exists(_.stripPrefix(Prefix).toLongOption.exists(_ <= epoch))

  /** Records the start of a run; if the checkpoint was rewound, from an earlier epoch than before. */
  def begin(): Unit = {
    val first = next
    if (!began(first)) {
      val file = part.create(s"$Prefix$first")
      try file.sync()
      finally file.close()
    }
  }

  def end(): Unit = {
    files.foreach(part.delete)
    files.headOption.foreach(left => throw new IOException(s"$part/$left could not be removed"))
  }

  private def files: Seq[String] = part.names().filter(_.startsWith(Prefix))
}

object RealTimeRuns {
  private val Prefix = "real-time-from-"

  /** The record of a stream.
    *
    * @param part
    *   of the checkpoint: the stream's directory, from Spark
    */
  def of(part: String, hadoop: Configuration): RealTimeRuns = {
    def next = LoggedEpochs.of(new Path(part), hadoop).flatMap(_.lastCommitted).fold(0L)(_ + 1)
    new RealTimeRuns(new HadoopFileStore(part, hadoop), next)
  }
}
