package io.epochal.cdc.reload

import io.epochal.cdc.change.{Chunk, ServerSnapshot}

/** A copy whose rows and changes are all kept.
  *
  * @param lsn
  *   of the transaction of its mark
  * @param snapshot
  *   of the server, in which the rows were read
  * @param chunk
  *   None: it has all rows of the table
  */
final private[reload] case class CompleteReload(
    request: ReloadRequest,
    token: String,
    lsn: Long,
    snapshot: ServerSnapshot,
    chunk: Option[Chunk]) {

  /** Whether no later chunk follows. */
  def isLast: Boolean = chunk.forall(_.until.isEmpty)
}
