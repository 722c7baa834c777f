package io.epochal.kit.source

import io.epochal.core.journal.FileStore

/** Remembers whether the epochs that Spark has logged and not committed are those of real-time runs.
  *
  * A real-time run forgets them and begins there again, as it has only logged what the sink had committed. Of those that a micro-batch
  * run has planned a sink may have the rows: forgotten, they cannot run again as they were. Spark's log does not tell the two apart.
  *
  * An empty file in the stream's part of the checkpoint, `real-time/runs`: made before a real-time run begins, removed before a
  * micro-batch run plans an epoch of its own. Without it the epochs count as planned.
  */
final private[source] class RealTimeRuns(store: FileStore) {

  def known: Boolean = store.exists(RealTimeRuns.File)

  def begin(): Unit = if (!known) store.create(RealTimeRuns.File).close()

  def end(): Unit = if (known) store.delete(RealTimeRuns.File)
}

private[source] object RealTimeRuns {
  private val File = "runs"

  /** Of the stream whose first offset is kept there. */
  def of(checkpoint: InitialOffset): RealTimeRuns = new RealTimeRuns(checkpoint.beside("real-time"))
}
