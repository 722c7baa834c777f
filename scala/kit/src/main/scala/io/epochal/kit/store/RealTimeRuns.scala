package io.epochal.kit.store

import java.io.IOException

import org.apache.hadoop.conf.Configuration

import io.epochal.core.journal.FileStore

/** Remembers whether the epochs that Spark has logged and not committed are those of real-time runs.
  *
  * A real-time run forgets them and begins there again, as it has only logged what the sink had committed. Of those that a micro-batch
  * run has planned a sink may have the rows: forgotten, they cannot run again as they were. Spark's log does not tell the two apart.
  *
  * An empty file in a stream's part of the checkpoint, `real-time`: made before a real-time run begins, removed before a micro-batch
  * run plans an epoch of its own. Without it the epochs count as planned.
  */
final class RealTimeRuns(part: FileStore) {
  import RealTimeRuns._

  def known: Boolean = part.exists(File)

  def begin(): Unit = if (!known) part.create(File).close()

  def end(): Unit = if (known) {
    part.delete(File)
    if (known) throw new IOException(s"$part/$File could not be removed")
  }
}

object RealTimeRuns {
  private val File = "real-time"

  /** @param part
    *   of the checkpoint: the directory that Spark hands the stream
    */
  def of(part: String, hadoop: Configuration): RealTimeRuns = new RealTimeRuns(new HadoopFileStore(part, hadoop))
}
