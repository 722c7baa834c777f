package io.epochal.kit.store

import java.io.IOException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.epochal.core.journal.FileStore

/** Remembers from which epoch on those in a checkpoint are of real-time runs.
  *
  * A real-time run forgets what Spark has logged and not committed and begins there again, as it has only logged what the sink had
  * committed. Of an epoch that a micro-batch run has planned a sink may have the rows: forgotten, it cannot run again as it was.
  * Spark's log does not tell the two apart.
  *
  * An empty file in a stream's part of the checkpoint, `real-time-from-<epoch>`: made before a real-time run begins, removed before a
  * micro-batch run plans an epoch of its own. Without it epochs count as planned.
  *
  * @param next
  *   the epoch after the last committed one
  */
final class RealTimeRuns(part: FileStore, next: => Long) {
  import RealTimeRuns._

  /** Whether a real-time run began the epoch, if it is not committed. */
  def began(epoch: Long): Boolean = files.exists(_.stripPrefix(Prefix).toLongOption.exists(_ <= epoch))

  /** Where a checkpoint was rewound, from an earlier epoch on than was known. */
  def begin(): Unit = {
    val first = next
    if (!began(first)) part.create(s"$Prefix$first").close()
  }

  def end(): Unit = {
    files.foreach(part.delete)
    files.headOption.foreach(left => throw new IOException(s"$part/$left could not be removed"))
  }

  private def files: Seq[String] = part.names().filter(_.startsWith(Prefix))
}

object RealTimeRuns {
  private val Prefix = "real-time-from-"

  /** @param part
    *   of the checkpoint: the directory that Spark hands the stream
    */
  def of(part: String, hadoop: Configuration): RealTimeRuns = {
    def next = LoggedEpochs.of(new Path(part), hadoop).flatMap(_.lastCommitted).fold(0L)(_ + 1)
    new RealTimeRuns(new HadoopFileStore(part, hadoop), next)
  }
}
